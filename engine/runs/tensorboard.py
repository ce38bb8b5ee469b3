"""The curves of a run as an event file of TensorBoard.

An event file is a TFRecord file (tensorflow.org, “TFRecord and tf.train.Example”): for each record
its length, uint64, the length's masked CRC-32C, the record, and its masked CRC-32C. A record is a
message Event (tensorflow/core/util/event.proto): 1 wall_time, double in seconds; 2 step, int64;
3 file_version, string; 5 summary, whose field 1 is a value with 1 tag, string, and 2 simple_value,
float32; 7 session_log, whose field 1 is its status, 1 for a start. At a start TensorBoard discards
its points of that step and later ones.
"""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from engine.files.protobuf import FIXED32, FIXED64, encode_field, encode_varint
from engine.messages.events import AnyEvent, Ended, Measured
from engine.runs.curve_files import CurveFiles, point_value

VERSION = b"brain.Event:2"
START = 1  # the status of a session log
FILES = "events.out.tfevents.*"


class TensorBoardFiles(CurveFiles):
    """An event file in a folder of the run's name."""

    form = "TensorBoard"

    def _run_folder(self) -> Path:
        return self.parent / self.run.path.name

    def _point_files(self) -> Iterator[Path]:
        yield from sorted(self.folder.glob(FILES))

    def _write_header(self, first: AnyEvent | None) -> None:
        started = first.at.timestamp() if first is not None else 0.0
        self.folder.mkdir(parents=True, exist_ok=True)
        size = self.run.events_size()  # a rewritten file gets another name
        name = f"events.out.tfevents.{int(started)}.{socket.gethostname()}.{size}"
        with open(self.folder / name, "xb") as file:
            _write_record(file, _double(1, started) + encode_field(3, VERSION))
            _write_record(file, _double(1, started) + encode_field(7, encode_field(1, START)))

    def _append(self, points: Iterator[Measured]) -> None:
        with open(next(self._point_files()), "ab") as file:
            for event in points:
                _write_record(
                    file,
                    scalar(event.at.timestamp(), event.step, tag(event.name), point_value(event)),
                )

    def _write_end(self, end: Ended | None) -> None:
        """Do nothing: TensorBoard stores no end of a run."""


def tag(name: str) -> str:
    """Name of a metric in TensorBoard's groups: “validation/f1”, “training/loss”."""
    if name.startswith("validation_"):
        return f"validation/{name.removeprefix('validation_')}"
    return f"training/{name}"


def scalar(seconds: float, step: int, name: str, value: float) -> bytes:
    """One point of one curve as an Event message; `seconds` since 1970."""
    point = encode_field(1, name.encode("utf-8")) + encode_varint(2 << 3 | FIXED32)
    point += struct.pack("<f", value)
    return _double(1, seconds) + encode_field(2, step) + encode_field(5, encode_field(1, point))


def _double(field: int, value: float) -> bytes:
    return encode_varint(field << 3 | FIXED64) + struct.pack("<d", value)


def _write_record(file: IO[bytes], content: bytes) -> None:
    # imports NumPy, which the window starts without
    from engine.checkpoints.tf1.checksum import crc32c, mask_checksum

    length = struct.pack("<Q", len(content))
    file.write(length + struct.pack("<I", mask_checksum(crc32c(length))))
    file.write(content + struct.pack("<I", mask_checksum(crc32c(content))))
