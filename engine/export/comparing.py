"""Comparison of the outputs of an export with those of the model.

Outputs are compared in float32. Differences are relative to the largest output of the model, if
that is above 1. A pick (the likeliest class, tag, token, position) that differs counts only if the
model's own pick was clearly the more probable one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.config.export import Form, Output, Precision
from engine.export.reloading import BrokenExport
from engine.export.running import Floats, Predictions
from engine.messages.reports import Comparison
from engine.phrases import phrase


class Bounds(NamedTuple):
    """Tolerances of an export.

    `difference`: relative, of outputs; for int8 only of outputs without picks. `tie_margin`: margin
    of probability above which another pick counts. `agreement`: fraction of equal picks.
    """

    difference: float
    tie_margin: float
    agreement: float


# the same weights in our network: only the order of summation may differ
SAME_CODE = Bounds(1e-5, 1e-3, 1.0)
BOUNDS: dict[Precision, Bounds] = {
    # different code, with a different order of summation in many layers
    "float32": Bounds(1e-4, 1e-3, 1.0),
    # The relative rounding error of a weight is up to 2^-12 in float16 and 2^-9 in bfloat16.
    # Through whole networks it grows to 0.0004 and 0.005; the bounds allow for deeper ones.
    "float16": Bounds(1e-2, 1e-2, 1.0),
    "bfloat16": Bounds(5e-2, 2e-2, 1.0),
    # typical: at least 0.97 of the picks agree, and outputs differ by 0.02 to 0.06
    "int8": Bounds(0.25, 5e-2, 0.9),
}


def bounds(form: Form, precision: Precision) -> Bounds:
    return SAME_CODE if precision == "float32" and form != "onnx" else BOUNDS[precision]


def compare(
    model: Predictions,
    export: Predictions,
    outputs: Sequence[Output],
    form: Form,
    precision: Precision,
) -> tuple[Comparison, ...]:
    """Compare the two; raises BrokenExport if the tokens differ, or the outputs are too far off."""
    for number, (ours, theirs) in enumerate(zip(model.tokens, export.tokens, strict=True), 1):
        if ours != theirs:
            raise export_error(
                phrase("its tokenizer splits text {number} into different tokens", number=number)
            )
    allowed = bounds(form, precision)
    comparisons = tuple(
        _compare_output(output, model.values[output.name], export.values[output.name], allowed)
        for output in outputs
    )
    for comparison in comparisons:
        _check_bounds(comparison)
    return comparisons


def export_error(why: str) -> BrokenExport:
    """The error for a broken export; `why` continues a sentence."""
    return BrokenExport(
        phrase("The export was discarded. After reloading, {why}.", why=why),
        phrase("Choose a higher precision or another format. The model itself is unchanged."),
    )


def _check_bounds(result: Comparison) -> None:
    if not np.isfinite(result.difference):
        raise export_error(
            phrase("its “{output}” contains NaN or infinite values", output=result.output)
        )
    if result.agreement is not None and result.agreement < result.least_agreement:
        raise export_error(
            phrase(
                "its top prediction in “{output}” matches the model in {agreement:.1%} of "
                "{rows} cases; at least {least_agreement:.0%} are required",
                output=result.output,
                agreement=result.agreement,
                rows=result.rows,
                least_agreement=result.least_agreement,
            )
        )
    if result.bound is not None and result.difference > result.bound:
        raise export_error(
            phrase(
                "its “{output}” differs by up to {difference:.2g} of the largest value; "
                "{bound:.2g} is allowed",
                output=result.output,
                difference=result.difference,
                bound=result.bound,
            )
        )


def _compare_output(
    output: Output, ours: Sequence[Floats], theirs: Sequence[Floats], allowed: Bounds
) -> Comparison:
    pairs = list(zip(ours, theirs, strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        raise export_error(phrase("its “{output}” has a different shape", output=output.name))
    scale = max(1.0, *(float(np.abs(a).max()) for a in ours))
    agreed, chances = list[bool](), list[float]()
    for a, b in pairs if output.meaning != "numbers" else ():
        p, q = (_softmax(x) if output.meaning == "one" else _sigmoid(x) for x in (a, b))
        same = _same_pick if output.meaning == "one" else _same_picks
        agreed += same(_rows(p), _rows(q), allowed.tie_margin).tolist()
        chances.append(float(np.abs(p - q).max()))
    return Comparison(
        output=output.name,
        rows=sum(len(_rows(a)) for a in ours),
        difference=float(np.max([np.abs(a - b).max() for a, b in pairs])) / scale,
        scale=scale,
        bound=None if agreed and allowed.agreement < 1 else allowed.difference,
        agreement=float(np.mean(agreed)) if agreed else None,
        least_agreement=allowed.agreement if agreed else 0,
        chance=float(np.max(chances)) if chances else None,
    )


def _rows(x: Floats) -> Floats:
    return x.reshape(-1, x.shape[-1])


def _same_pick(p: Floats, q: Floats, tie_margin: float) -> np.ndarray:
    """bool [rows]: the same class, or one that was about as probable."""
    margin = p.max(-1) - p[np.arange(len(p)), q.argmax(-1)]
    same: np.ndarray = margin <= tie_margin
    return same


def _same_picks(p: Floats, q: Floats, tie_margin: float) -> np.ndarray:
    """bool [rows]: the same classes are above one half, except those close to it."""
    same: np.ndarray = (((p > 0.5) == (q > 0.5)) | (np.abs(p - 0.5) <= tie_margin)).all(-1)
    return same


def _softmax(x: Floats) -> Floats:
    powers = np.exp(x - x.max(-1, keepdims=True))
    probabilities: Floats = powers / powers.sum(-1, keepdims=True)
    return probabilities


def _sigmoid(x: Floats) -> Floats:
    probabilities: Floats = np.reciprocal(1 + np.exp(-np.clip(x, -80, 80)))
    return probabilities
