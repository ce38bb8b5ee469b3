"""The families of networks: a file each, with the spec and how others publish it.

The network itself stands in a file of `engine.models`, since nothing here loads torch.
"""

from importlib import import_module

from engine.config.families.family import Family


def _family(file: str) -> Family:
    found: Family = import_module(f"{__name__}.{file}").FAMILY
    return found


# By the “model_type” of config.json, in the order in which they are listed to users.
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
            "mpnet",
            "deberta",
            "modernbert",
            "nomic",
        ),
    )
}
