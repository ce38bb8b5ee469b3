"""Only the newest question of each kind and side waits."""

import json

from engine.messages.explore.fill_mask import FillMask
from engine.worker.questions import Inbox, parse_line


def test_only_the_newest_question_of_a_kind_waits():
    inbox = Inbox()
    for number, kind in enumerate(("fill_mask", "attend", "fill_mask", "fill_mask"), start=1):
        question = {"kind": kind, "number": number, "checkpoint": "x", "text": "a"}
        inbox.put(json.dumps(question).encode())
    assert [inbox.take().number for _ in range(2)] == [2, 4]


def test_the_sides_of_a_comparison_do_not_push_one_another_out():
    inbox = Inbox()
    for number, side in enumerate((0, 1, 0), start=1):
        question = {
            "kind": "fill_mask",
            "number": number,
            "side": side,
            "checkpoint": "x",
            "text": "a",
        }
        inbox.put(json.dumps(question).encode())
    assert [inbox.take().number for _ in range(2)] == [2, 3]


def test_an_invalid_question_keeps_its_number():
    assert parse_line(b'{"number": 7, "kind": "fill_mask"}').number == 7
    assert parse_line(b'{"number": "x"}').number == 0
    assert parse_line(b"[1, 2]").number == 0
    assert parse_line(b"\xff\xfe").number == 0


def test_idle_work_is_done_only_without_questions(tiny_folder):
    inbox, done = Inbox(), []

    def meanwhile():
        done.append(len(done))
        if len(done) == 3:
            inbox.put(FillMask(number=7, checkpoint=tiny_folder, text="a").line())
        return True

    assert inbox.take(meanwhile).number == 7
    assert done == [0, 1, 2]
