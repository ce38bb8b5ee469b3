"""Base class of the reports of an evaluation."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from engine.config import Spec


class Report(Spec, ABC):
    """All metrics of one evaluation."""

    def metrics(self) -> dict[str, float]:
        """The metrics that are recorded during training, by name, by default all fields; always
        with `loss` and `examples`."""
        return self.model_dump()

    @abstractmethod
    def lines(self) -> list[str]:
        """All metrics as readable lines."""

    def never_predicted(self) -> tuple[str, ...]:
        """The labels of some example that were never predicted; empty for tasks without labels."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """The report for JSON; metrics that are not finite are null."""
        return {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in self.model_dump(mode="json").items()
        }
