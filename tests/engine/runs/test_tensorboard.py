"""Event files, read by Google's protocol buffers with TensorFlow's messages."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from engine.checkpoints.tf1.checksum import crc32c, mask_checksum
from engine.messages.events import Started
from engine.runs.folder import RunFolder
from engine.runs.tensorboard import TensorBoardFiles, tag
from tests.engine.runs import fake_worker

AT = datetime(2026, 3, 4, 5, 6, 7, 500_000, tzinfo=UTC)


def event_message() -> Any:
    """The class Event of tensorflow/core/util/event.proto, with the fields for scalars."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tb", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    opt, rep = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    messages = {
        "Value": [("tag", 1, field.TYPE_STRING, opt), ("simple_value", 2, field.TYPE_FLOAT, opt)],
        "Summary": [("value", 1, ".tb.Value", rep)],
        "Event": [
            ("wall_time", 1, field.TYPE_DOUBLE, opt),
            ("step", 2, field.TYPE_INT64, opt),
            ("file_version", 3, field.TYPE_STRING, opt),
            ("summary", 5, ".tb.Summary", opt),
        ],
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, label in fields:
            typed = {"type": kind} if isinstance(kind, int) else {"type_name": kind, "type": 11}
            message.field.add(name=field_name, number=number, label=label, **typed)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tb.Event"))


def records(content: bytes) -> Iterator[bytes]:
    offset = 0
    while offset < len(content):
        head = content[offset : offset + 8]
        (size,) = struct.unpack("<Q", head)
        (check,) = struct.unpack("<I", content[offset + 8 : offset + 12])
        assert check == mask_checksum(crc32c(head))
        record = content[offset + 12 : offset + 12 + size]
        (check,) = struct.unpack("<I", content[offset + 12 + size : offset + 16 + size])
        assert check == mask_checksum(crc32c(record))
        yield record
        offset += 16 + size


def test_a_run_without_points_has_a_file_with_the_version_and_its_start(tmp_path):
    run = RunFolder.create(tmp_path / "night", fake_worker.job())
    run.append(Started(pid=1, at=AT))
    files = TensorBoardFiles(run, tmp_path / "tb")
    files.write_all()
    [path] = files.folder.glob("events.*")
    assert path.parent == tmp_path / "tb" / "night"
    assert path.name.startswith("events.out.tfevents.1772600767.")
    first, _started = records(path.read_bytes())
    assert event_message().FromString(first).file_version == "brain.Event:2"


def test_metrics_are_grouped():
    assert tag("validation_f1_macro") == "validation/f1_macro"
    assert tag("learning_rate") == "training/learning_rate"
