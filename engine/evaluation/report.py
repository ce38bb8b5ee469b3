"""What all reports of an evaluation have in common."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict


class Report(BaseModel, ABC):
    """All figures of one evaluation."""

    model_config = ConfigDict(frozen=True)

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """The figures that are followed while training, by name; `loss` and `examples` too."""

    @abstractmethod
    def lines(self) -> list[str]:
        """All figures as lines to be read."""

    def never_given(self) -> tuple[str, ...]:
        """The labels that some example has and none was given; none where a task has no labels."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """The report as JSON has it; a figure that is not finite is null."""
        return {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in self.model_dump(mode="json").items()
        }
