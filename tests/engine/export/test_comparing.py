"""Tolerances of the comparison."""

import numpy as np
import pytest

from engine.config.export import Output
from engine.export.comparing import BOUNDS, SAME_CODE, bounds, compare
from engine.export.reloading import BrokenExport
from engine.export.running import Predictions

ONE = Output(name="logits", of="input", meaning="one")
ANY = Output(name="logits", of="input", meaning="any")
NUMBERS = Output(name="logits", of="input", meaning="numbers")


def outputs(*rows: list[float]) -> Predictions:
    return Predictions(
        [[[1, 2]]] * len(rows), {"logits": [np.array(row, np.float32) for row in rows]}
    )


def compare_outputs(
    output: Output, ours: Predictions, theirs: Predictions, precision="float32", form="onnx"
):
    return compare(ours, theirs, (output,), form, precision)[0]


def test_differences_are_relative_to_the_largest_number_above_1():
    small = compare_outputs(NUMBERS, outputs([0.5, 0.1]), outputs([0.5, 0.10005]))
    assert small.difference == pytest.approx(5e-5, rel=1e-2)
    assert (small.scale, small.agreement, small.chance) == (1, None, None)
    large = compare_outputs(NUMBERS, outputs([200.0, 0.1]), outputs([200.01, 0.1]))
    assert large.difference == pytest.approx(5e-5, rel=1e-2)
    with pytest.raises(BrokenExport, match=r"differs by up to 0\.0002"):
        compare_outputs(NUMBERS, outputs([0.5]), outputs([0.5002]))


def test_the_same_code_has_tighter_bounds_than_other_code():
    assert bounds("hf", "float32") == bounds("tf1", "float32") == SAME_CODE
    assert SAME_CODE.difference < bounds("onnx", "float32").difference
    steps = [BOUNDS[precision].difference for precision in ("float32", "float16", "bfloat16")]
    assert steps == sorted(steps)


def test_another_label_counts_unless_the_scores_are_close():
    near = compare_outputs(ONE, outputs([0.001, 0.0]), outputs([0.0, 0.001]), "float16")
    assert near.agreement == 1
    with pytest.raises(BrokenExport, match=r"0\.0 % of 1 cases"):
        compare_outputs(ONE, outputs([0.3, 0.0]), outputs([0.0, 0.3]), "float16")
    with pytest.raises(BrokenExport, match="differs by"):
        compare_outputs(ONE, outputs([3.0, 0.0]), outputs([2.0, 0.0]), "float16")


def test_any_number_of_labels_is_compared_label_by_label():
    ours = outputs([2.0, -2.0], [-2.0, 2.0])
    assert compare_outputs(ANY, ours, outputs([2.0, -2.0], [-2.0, 2.0])).agreement == 1
    assert compare_outputs(ANY, outputs([0.0001]), outputs([-0.0001]), "float16").agreement == 1
    with pytest.raises(BrokenExport, match=r"50\.0 % of 2 cases"):
        compare_outputs(ANY, ours, outputs([2.0, -2.0], [2.0, 2.0]))


def test_int8_is_compared_by_labels_or_else_by_numbers():
    rows = [[1.0, 0.0]] * 10
    off = [[1.6, 0.0]] * 9
    rough = compare_outputs(ONE, outputs(*rows), outputs(*off, [0.0, 1.0]), "int8")
    assert (rough.agreement, rough.bound) == (0.9, None)
    assert rough.chance == pytest.approx(0.462, abs=1e-3)
    with pytest.raises(BrokenExport, match="80"):
        compare_outputs(ONE, outputs(*rows), outputs(*off[:8], [0.0, 1.0], [0.0, 1.0]), "int8")
    with pytest.raises(BrokenExport, match="differs by"):
        compare_outputs(NUMBERS, outputs([1.0]), outputs([1.3]), "int8")


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("output", [ONE, ANY, NUMBERS])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_non_finite_outputs_are_never_equal(precision, output, number):
    with np.errstate(invalid="ignore"), pytest.raises(BrokenExport, match="NaN or infinite"):
        compare_outputs(output, outputs([1.0, 0.0]), outputs([1.0, number]), precision)
    with np.errstate(invalid="ignore"), pytest.raises(BrokenExport, match="NaN or infinite"):
        compare_outputs(output, outputs([1.0, number]), outputs([1.0, number]), precision)


def test_other_shapes_and_other_tokens_are_refused():
    with pytest.raises(BrokenExport, match="a different shape"):
        compare_outputs(NUMBERS, outputs([1.0]), outputs([1.0, 2.0]))
    other = Predictions([[[1, 3]]], outputs([1.0]).values)
    with pytest.raises(BrokenExport, match="splits text 1"):
        compare_outputs(NUMBERS, outputs([1.0]), other)


def test_a_comparison_has_a_sentence():
    sentence = compare_outputs(ONE, outputs([0.5, 0.1]), outputs([0.5, 0.10005])).sentence()
    assert sentence == (
        "logits: largest difference 5.0e-05 of the largest number (1), at most 1e-04 allowed; "
        "100.0 % of 1 predictions agree, at least 100 % required; "
        "probabilities differ by at most 1.2e-05."
    )
    same = compare_outputs(ONE, outputs([0.5, 0.1]), outputs([0.5, 0.1])).sentence()
    assert same == (
        "logits: no difference; 100.0 % of 1 predictions agree, at least 100 % required."
    )
