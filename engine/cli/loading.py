"""Remarks about a loaded checkpoint."""

from engine.messages.reports import LoadReport
from engine.system.terminal import echo_error


def remark_loading(report: LoadReport) -> None:
    """Report on stderr what is missing, unused or ignored in a checkpoint."""
    for sentence in report.remarks():
        echo_error(f"note: {sentence}")
