"""What the program prints: the one place, so that no foreign text steers a terminal.

Lines for people show control characters as \\x1b, JSON as \\u001b.
"""

import json
import sys
from typing import Any, TextIO

from engine.visible import UNSEEN, one_line


def say(*lines: object) -> None:
    """Print what was asked for; a line end within a line is written out, as a name may have one."""
    _print("\n".join(one_line(str(line)) for line in lines), sys.stdout)


def remark(*lines: object) -> None:
    """Print beside it, on stderr, what is noticed or wrong, line by line as `say`."""
    _print("\n".join(one_line(str(line)) for line in lines), sys.stderr)


def say_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    say_json_text(json.dumps(value, ensure_ascii=False))


def say_json_text(text: str) -> None:
    """Print what is JSON already."""
    _print(UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text), sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    print(text, file=stream, flush=True)
