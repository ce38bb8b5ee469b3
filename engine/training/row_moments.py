"""AdamW for a table with sparse gradients, with moments only for the rows that had one.

A row without a gradient so far has moments of zero, so weight decay is its only change. All numbers
equal those of `torch.optim.AdamW` with dense gradients.

Shapes: V rows of the table, S of them seen, R with a gradient in a step, D size of a row.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK = 1024  # rows; their weights and moments fit into the cache
MOMENTS = ("exp_avg", "exp_avg_sq")  # torch's names
ROWS, STEP = "rows", "step"


class RowMoments:
    """Adam state of a table, float [V, D]."""

    def __init__(self, table: Tensor) -> None:
        self._table = table
        self._step = torch.zeros(())
        self._places = torch.full((len(table),), -1)  # int64 [V], among the seen rows; -1: unseen
        self.rows = torch.empty(0, dtype=torch.int64)  # [S], in the order in which they were seen
        self._chunks = [self._empty_chunk()]  # moments of consecutive seen rows

    @torch.no_grad()
    def update(self, gradient: Tensor, group: dict[str, Any], divisor: Tensor | None) -> None:
        """Take a step with a coalesced sparse gradient [V, D] and the settings of a group.

        Args:
            divisor: [], of the gradient; None: 1.
        """
        self._add_rows(gradient.indices()[0])
        self._step += 1
        if group["weight_decay"]:
            factors = self._table.new_full(
                (len(self._table), 1), 1 - group["lr"] * group["weight_decay"]
            )
            self._table.mul_(factors.index_fill_(0, self.rows, 1))  # others: with their moments
        places, order = self._places[gradient.indices()[0]].sort()
        values = gradient.values().index_select(0, order)
        starts = torch.searchsorted(places, torch.arange(0, len(self.rows) + CHUNK, CHUNK)).tolist()
        parts = zip(self.rows.split(CHUNK), self._chunks, starts, starts[1:], strict=False)
        for index, (rows, moments, first, end) in enumerate(parts):
            weights = self._table.index_select(0, rows)
            dense = torch.zeros_like(weights)
            dense.index_copy_(0, places[first:end] - index * CHUNK, values[first:end])
            torch._fused_adamw_(
                [weights],
                [dense],
                [moments["exp_avg"][: len(rows)]],
                [moments["exp_avg_sq"][: len(rows)]],
                [],
                [self._step],
                lr=group["lr"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
                grad_scale=divisor,
            )
            self._table.index_copy_(0, rows, weights)

    def tensors(self) -> dict[str, Tensor]:
        """State to be saved, without copies."""
        parts = zip(self.rows.split(CHUNK), self._chunks, strict=True)
        moments = {
            f"{name}.{index}": chunk[name][: len(rows)]
            for index, (rows, chunk) in enumerate(parts)
            for name in MOMENTS
        }
        return {STEP: self._step, ROWS: self.rows, **moments}

    def load(self, saved: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned, or torch's dense state."""
        if not saved:
            return
        self._step = saved[STEP].clone()
        self._add_rows(saved.get(ROWS, torch.arange(len(self._table))))
        parts = zip(self.rows.split(CHUNK), self._chunks, strict=True)
        for index, (rows, chunk) in enumerate(parts):
            for name in MOMENTS:
                part = saved[f"{name}.{index}"] if ROWS in saved else saved[name][rows]
                chunk[name][: len(rows)] = part

    def _add_rows(self, rows: Tensor) -> None:
        """Start the moments of new rows among int64 [R], distinct."""
        new = rows[self._places[rows] < 0]
        self._places[new] = torch.arange(len(self.rows), len(self.rows) + len(new))
        self.rows = torch.cat([self.rows, new])
        while len(self._chunks) * CHUNK < len(self.rows):
            self._chunks.append(self._empty_chunk())

    def _empty_chunk(self) -> dict[str, Tensor]:
        """Moments of rows without a gradient so far, float [CHUNK, D] each."""
        return {name: self._table.new_zeros(CHUNK, self._table.size(1)) for name in MOMENTS}


def dense_moments(saved: dict[str, Tensor], table: Tensor) -> dict[str, Tensor]:
    """State in torch's form, float [V, D], from this or from what `RowMoments.tensors` returned."""
    if ROWS not in saved:
        return saved
    dense = {STEP: saved[STEP]}
    for name in MOMENTS:
        parts = [saved[f"{name}.{n}"] for n, _ in enumerate(saved[ROWS].split(CHUNK))]
        dense[name] = torch.zeros(table.shape).index_copy_(0, saved[ROWS], torch.cat(parts))
    return dense
