"""How large a new network is."""

from app.pages.train.sizes import parameters
from engine.spec.model import PRESETS


def test_the_parameters_are_those_of_the_published_models() -> None:
    assert parameters(PRESETS["base"]) == 109_514_298  # bert-base-uncased, masked words
    assert parameters(PRESETS["large"]) == 335_174_458
