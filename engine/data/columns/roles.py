"""What is said where it is not known which column plays a role."""

from engine.config.dataset import Mapping
from engine.errors import StudioError
from engine.phrases import phrase


class MissingRole(StudioError):
    """A task lacks the column of a role, which is a field of `Mapping`."""

    def __init__(self, role: str) -> None:
        super().__init__(
            phrase(
                "It is not known which column holds “{title}”, which the task needs in each row.",
                title=Mapping.model_fields[role].title or role,
            ),
            phrase("Choose it; on the command line with --{role}.", role=role),
        )
