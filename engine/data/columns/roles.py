"""Error for a role without a column."""

from engine.config.dataset import Mapping
from engine.errors import StudioError
from engine.phrases import phrase


class MissingRole(StudioError):
    """The task needs a role, a field of `Mapping`, that has no column."""

    def __init__(self, role: str) -> None:
        super().__init__(
            phrase(
                "No column is chosen for “{title}”, which the task needs in each row.",
                title=Mapping.model_fields[role].title or role,
            ),
            phrase("Choose the column; on the command line, with --{role}.", role=role),
        )
