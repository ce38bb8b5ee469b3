r"""Printing, in one module, so that no untrusted text controls a terminal.

Lines for people show control characters as \\x1b, JSON as \\u001b.
"""

import json
import sys
from typing import Any, TextIO

from engine.visible import UNSEEN, one_line


def echo(*lines: object) -> None:
    """Print a result; line ends within a line are escaped, as a name may have one."""
    _print("\n".join(one_line(str(line)) for line in lines), sys.stdout)


def echo_error(*lines: object) -> None:
    """Print notices and problems on stderr, line by line like `echo`."""
    _print("\n".join(one_line(str(line)) for line in lines), sys.stderr)


def echo_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    echo_json_text(json.dumps(value, ensure_ascii=False))


def echo_json_text(text: str) -> None:
    """Print a string that is JSON already."""
    _print(UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text), sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    print(text, file=stream, flush=True)
