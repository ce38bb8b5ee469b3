"""Problems of a spec have the paths of their fields."""

import pytest
from pydantic import ValidationError

from engine.config.dataset import Mapping, Split
from engine.config.families.bert import BertSpec
from engine.config.problems import Problem
from engine.config.training import HardwareSpec, TrainingSpec
from engine.config.validation import describe_validation, list_problems
from engine.phrases import Phrase


def problems(spec, **fields: object) -> list[Problem]:
    with pytest.raises(ValidationError) as caught:
        spec.model_validate(fields)
    return list_problems(caught.value)


def test_a_single_field_is_named():
    (problem,) = problems(TrainingSpec, batch_size=0)
    assert problem == ("must be at least 1", ("batch_size",))
    (problem,) = problems(HardwareSpec, cores="3-1")
    assert problem.fields == ("cores",) and "runs backwards" in problem.text


@pytest.mark.parametrize(
    "spec, fields, expected",
    [
        (BertSpec, {"hidden_size": 100, "heads": 12}, ("heads", "hidden_size")),
        (Split, {"validation": 0.5, "test": 0.5}, ("validation", "test")),
        (Mapping, {"text": "a", "pair": "b", "label": "a"}, ("text", "label")),
        (Mapping, {"text": "a", "endings": ["b", "a"]}, ("text", "endings")),
    ],
)
def test_a_rule_names_all_its_fields(spec, fields, expected):
    (problem,) = problems(spec, **fields)
    assert problem.fields == expected
    assert isinstance(problem.text, Phrase) and not problem.text.endswith(".")


def test_all_problems_become_one_error():
    with pytest.raises(ValidationError) as caught:
        TrainingSpec.model_validate({"batch_size": 0, "epochs": "many"})
    message = describe_validation(caught.value, "The job").problem
    assert message == (
        "The job is not valid: batch_size: must be at least 1; epochs: must be a number."
    )
