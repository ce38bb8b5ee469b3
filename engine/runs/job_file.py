"""A job in a file, saved by the wizard and read by `bert-studio train`."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config.job import JobSpec
from engine.config.validation import describe_validation
from engine.errors import StudioError
from engine.files.regular_file import read_regular


def read_job(file: Path) -> JobSpec:
    """Read a job; relative paths start from the folder of the file."""
    try:
        job = JobSpec.model_validate_json(read_regular(file))
    except OSError as error:
        raise StudioError(
            "The job file {file} cannot be read: {strerror}.", file=file, strerror=error.strerror
        ) from error
    except ValidationError as error:
        raise describe_validation(error, f"The job file {file.name}") from error
    return _resolve_paths(job, file.absolute().parent)


def _resolve_paths(job: JobSpec, base: Path) -> JobSpec:
    def absolute(value: Any) -> Any:
        if isinstance(value, Path):
            return base / value
        if isinstance(value, dict):
            return {key: absolute(inner) for key, inner in value.items()}
        return value

    return JobSpec.model_validate(absolute(job.model_dump()))
