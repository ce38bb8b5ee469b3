"""The worker that may open the network: questions about the hub, without torch.

Each question gets a separate process, which ends with the answer. So the window never waits for a
host that does not answer, and cancelling means ending the process. Files already downloaded stay.
"""

from collections.abc import Callable
from typing import Any

from engine.hub import client, datasets, download, push
from engine.messages.hub import (
    Download,
    Downloaded,
    HubModelsFound,
    PlanDatasetDownload,
    PlanDownload,
    PlanPush,
    Push,
    SearchHub,
)
from engine.messages.question import Answer, Question
from engine.worker.questions import Emit


def _search(question: SearchHub, _: Emit) -> Answer:
    return HubModelsFound(models=client.search(question.words))


def _plan(question: PlanDownload, _: Emit) -> Answer:
    return download.plan(question.model, question.revision, question.folder, question.flops)


def _plan_data(question: PlanDatasetDownload, _: Emit) -> Answer:
    return datasets.plan(datasets.parse_address(question.name), question.folder)


def _download(question: Download, emit: Emit) -> Answer:
    folder, source = download.download(question.plan, question.folder, emit)
    return Downloaded(folder=folder, source=source)


def _plan_push(question: PlanPush, _: Emit) -> Answer:
    return push.plan(question.checkpoint, question.model, question.private)


def _push(question: Push, emit: Emit) -> Answer:
    return push.push(question.checkpoint, question.model, question.private, emit)


HUB_ANSWERERS: dict[type[Question], Callable[[Any, Emit], Answer]] = {
    SearchHub: _search,
    PlanDownload: _plan,
    PlanDatasetDownload: _plan_data,
    Download: _download,
    PlanPush: _plan_push,
    Push: _push,
}
