"""No Qt property is set by a constructor keyword: PySide derives its setter with the locale.

In Turkish and Azeri “interval” becomes “setİnterval”, which does not exist, and the window would
not open.
"""

import ast
import re
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "app"
KEYWORD = re.compile(r"\bQ[A-Z]\w*\([^:]*?\w=[^=]")  # a candidate


def keywords(source: str) -> list[str]:
    """Keywords other than `parent` passed to constructors of PySide6."""
    if not KEYWORD.search(source):
        return []  # parsing takes long
    nodes = list(ast.walk(ast.parse(source)))
    qt = {
        name.asname or name.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("PySide6.")
        for name in node.names
        if name.name.startswith("Q")
    }
    return [
        f"line {node.lineno}: {node.func.id}({keyword.arg}=…)"
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in qt
        for keyword in node.keywords
        if keyword.arg not in (None, "parent")
    ]


def test_qt_properties_are_not_set_by_constructor_keywords():
    source = "from PySide6.QtCore import QTimer\ntimer = QTimer(owner, interval=5)"
    assert keywords(source) == ["line 2: QTimer(interval=…)"]
    files = sorted(APP.rglob("*.py"))
    calls = [
        f"{file.relative_to(APP)}, {k}" for file in files for k in keywords(file.read_text("utf-8"))
    ]
    assert files and not calls, "\n".join(calls)
