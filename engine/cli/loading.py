"""What is to be said of a checkpoint that a command has loaded."""

from engine.messages.reports import LoadReport
from engine.system.terminal import echo_error


def remark_loading(report: LoadReport) -> None:
    """Say on stderr what is missing in a checkpoint, not used of it, or passed over."""
    for sentence in report.remarks():
        echo_error(f"note: {sentence}")
