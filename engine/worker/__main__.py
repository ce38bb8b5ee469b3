"""Entry point of the workers.

`train RUN_FOLDER` trains a run, and `wait` gets its folder later. `explore SCRATCH_FOLDER` answers
questions on stdin; `hub SCRATCH_FOLDER` and `search SCRATCH_FOLDER` answer questions about the hub
and about searches, without torch. `reload SCRATCH_FOLDER` verifies a new export.
"""

import sys
from pathlib import Path
from typing import NoReturn

from engine.files.atomic_write import keep_files_private
from engine.system.errors import explain_error
from engine.system.terminal import echo_error
from engine.system.torch_import import load_torch_without_gc
from engine.worker import FAILED, configure_threads
from engine.worker.questions import answer_all, answer_writer, start_inbox

USAGE = (
    "usage: bert-studio-worker train RUN_FOLDER | wait | explore SCRATCH_FOLDER"
    " | hub SCRATCH_FOLDER | search SCRATCH_FOLDER | reload SCRATCH_FOLDER"
)


def main(arguments: list[str] | None = None) -> int:
    """Run a worker; returns the exit code. Errors of the user are printed as a sentence."""
    keep_files_private()
    configure_threads()
    load_torch_without_gc()
    try:
        return _work(sys.argv[1:] if arguments is None else arguments)
    except Exception as error:
        if (studio_error := explain_error(error)) is None:
            raise
        echo_error(studio_error)
        return FAILED


def _work(arguments: list[str]) -> int:
    match arguments:
        case ["train", folder]:
            from engine.worker.train import main as train

            return train(Path(folder))
        case ["wait"]:
            from engine.worker.train import wait_for_folder

            return wait_for_folder()
        case ["explore", folder]:
            explore(Path(folder))
        case ["hub", _]:
            from engine.worker.hub import HUB_ANSWERERS

            answer_all(HUB_ANSWERERS)
        case ["search", _]:
            from engine.worker.search import SEARCH_ANSWERERS

            answer_all(SEARCH_ANSWERERS)
        case ["reload", folder]:
            from engine.export.reloading import main as reload

            return reload(Path(folder))
    echo_error(USAGE)
    return 2


def explore(scratch: Path) -> NoReturn:
    """Answer questions about models until the input ends; tensors go into files in `scratch`."""
    emit, inbox = answer_writer(), start_inbox()
    # loads torch while questions already come in
    from engine.worker.answerers import respond
    from engine.worker.context import WorkerContext

    context = WorkerContext(scratch, emit)
    while True:
        respond(inbox.take(context.models.prepare), context)


if __name__ == "__main__":
    sys.exit(main())
