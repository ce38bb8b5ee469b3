"""An unsuitable base model gives the same message everywhere."""

from engine.checkpoints.fit import missing_nsp_head, wrong_direction
from engine.config.families import FAMILIES
from engine.config.tasks import TASKS
from engine.config.tasks.pretraining import Pretraining


def test_only_pretraining_depends_on_the_direction_of_its_base_model() -> None:
    for kind, task in TASKS.items():
        for causal in (False, True):
            problem = wrong_direction(task(kind=kind), "little", causal)
            assert bool(problem) == (kind == "pretraining" and causal), kind
    problem = wrong_direction(Pretraining(objective="clm"), "little", False)
    assert problem is not None and "little is bidirectional" in problem.problem
    assert wrong_direction(Pretraining(objective="clm"), "little", True) is None


def test_a_family_without_an_nsp_head_says_so_where_one_is_wanted() -> None:
    for family in FAMILIES.values():
        assert missing_nsp_head(False, family) is None
        problem = missing_nsp_head(True, family)
        assert bool(problem) != family.has_nsp_head
        assert problem is None or family.title in problem.problem
