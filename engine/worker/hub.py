"""The worker that may open the network: questions about what is on the hub, without torch.

Each is asked of a process of its own, which ends with the answer; so the window never waits for a
host that does not answer, and cancelling is ending the process. What was fetched stays.
"""

import signal
from collections.abc import Callable
from typing import Any

from engine.hub import client, datasets, download, push
from engine.messages.hub import (
    Download,
    Downloaded,
    Found,
    PlanData,
    PlanDownload,
    PlanPush,
    Push,
    SearchHub,
)
from engine.messages.question import Answer, Question
from engine.worker.explore import parsed, reading, say, teller

Tell = Callable[[Answer], object]


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the window
    tell, inbox = teller(), reading()
    while True:
        line = inbox.take()
        say(line, tell, lambda content=line.content: _answer(content, tell))  # type: ignore[misc]


def _answer(content: bytes, tell: Tell) -> Answer:
    question = parsed(content, HUB_ANSWERERS)
    answered = HUB_ANSWERERS[type(question)](question, tell)
    return answered.model_copy(update={"to": question.number})


def _search(question: SearchHub, _: Tell) -> Answer:
    return Found(models=client.search(question.words))


def _plan(question: PlanDownload, _: Tell) -> Answer:
    return download.plan(question.model, question.revision, question.folder, question.rate)


def _plan_data(question: PlanData, _: Tell) -> Answer:
    return datasets.plan(datasets.address_in(question.name), question.folder)


def _download(question: Download, tell: Tell) -> Answer:
    place, source = download.download(question.plan, question.folder, tell)
    return Downloaded(folder=place, source=source)


def _plan_push(question: PlanPush, _: Tell) -> Answer:
    return push.plan(question.checkpoint, question.model, question.private)


def _push(question: Push, tell: Tell) -> Answer:
    return push.push(question.checkpoint, question.model, question.private, tell)


HUB_ANSWERERS: dict[type[Question], Callable[[Any, Tell], Answer]] = {
    SearchHub: _search,
    PlanDownload: _plan,
    PlanData: _plan_data,
    Download: _download,
    PlanPush: _plan_push,
    Push: _push,
}
