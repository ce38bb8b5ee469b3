"""Families of networks: one file per family, with its spec and published layout.

The networks are in `engine.models`, as nothing here loads torch.
"""

from importlib import import_module

from engine.config.families.family import Family


def _family(file: str) -> Family:
    family: Family = import_module(f"{__name__}.{file}").FAMILY
    return family


# By the “model_type” of config.json, in the order in which users see them.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in map(
        _family,
        (
            "bert",
            "distilbert",
            "roberta",
            "xlm_roberta",
            "camembert",
            "albert",
            "electra",
            "ernie",
            "mpnet",
            "deberta",
            "modernbert",
            "nomic",
            "gte",
        ),
    )
}
