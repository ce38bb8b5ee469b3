"""Linear centred kernel alignment (Kornblith et al. 2019, §3), with the unbiased estimator of HSIC
(Song et al. 2012, §2.3; Nguyen et al. 2021, §3.2).

Shapes: N vectors, D and E their sizes.
"""

import numpy as np

FEWEST = 4  # vectors needed by the estimator


def hsic(x: np.ndarray, y: np.ndarray) -> float:
    """Unbiased HSIC of linear kernels; float64 [N, D] and [N, E].

    HSIC₁ = (tr(K̃L̃) + 1ᵀK̃1 · 1ᵀL̃1 / ((N−1)(N−2)) − 2 · 1ᵀK̃L̃1 / (N−2)) / (N(N−3)), with K̃ =
    XXᵀ and L̃ = YYᵀ without their diagonals; computed from the vectors, without any [N, N] matrix.
    """
    count = len(x)
    own_x, own_y = (x * x).sum(1), (y * y).sum(1)  # the diagonals
    rows_x = x @ x.sum(0) - own_x  # K̃1
    rows_y = y @ y.sum(0) - own_y
    trace = float(((x.T @ y) ** 2).sum() - own_x @ own_y)
    both = float(rows_x.sum() * rows_y.sum()) / ((count - 1) * (count - 2))
    across = 2 * float(rows_x @ rows_y) / (count - 2)
    return (trace + both - across) / (count * (count - 3))


def linear_cka(x: np.ndarray, y: np.ndarray) -> float:
    """CKA of two representations of the same N items, float [N, D] and [N, E].

    NaN for fewer than four items, or if all vectors of one side are the same.
    """
    if len(x) < FEWEST:
        return float("nan")
    x, y = (values.astype(np.float64) - values.mean(0, dtype=np.float64) for values in (x, y))
    # centre first: what does not depend on the mean is then computed from small numbers
    norm = hsic(x, x) * hsic(y, y)
    return hsic(x, y) / norm**0.5 if norm > 0 else float("nan")
