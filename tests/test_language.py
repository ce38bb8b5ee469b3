"""Comments and docstrings are in plain English: rare words stay rare."""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = (("app", "engine"), ("tests", "benchmarks", "tools", "packaging", "dev.py"))
RARE = ("nobody", "anew", "beside", "whoever", "told", "stands", "stand", "tells", "likewise")
RARE = (*RARE, "whatever")
MAX_WHERE, MAX_RARE = 12, 2  # in 10,000 words; well-kept projects of this field have 6 to 9 and 1
MAX_OPENINGS = 0.02  # of the docstrings


def python_files(place: Path) -> Iterator[Path]:
    yield from place.rglob("*.py") if place.is_dir() else [place]


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def comments(file: Path) -> Iterator[str]:
    with tokenize.open(file) as code:
        for token in tokenize.generate_tokens(code.readline):
            if token.type == tokenize.COMMENT:
                yield token.string


def test_comments_and_docstrings_are_plain_english() -> None:
    for group in GROUPS:
        words, openings, count, places = Counter[str](), 0, 0, list[str]()
        for file in sorted(file for name in group for file in python_files(ROOT / name)):
            documented = list(docstrings(ast.parse(file.read_text("utf-8"))))
            count += len(documented)
            openings += sum(bool(re.match(r"(What|Whether|How|Where)\b", d)) for d in documented)
            for text in (*documented, *comments(file)):
                found = re.findall(r"[a-z']+", text.lower())
                words.update(found)
                if {"where", *RARE} & set(found):
                    places.append(f"{file.relative_to(ROOT)}: {' '.join(text.split())[:100]}")
        per_word = 10_000 / max(words.total(), 1)
        report = "\n".join(places)
        assert words["where"] * per_word <= MAX_WHERE, report
        assert sum(words[word] for word in RARE) * per_word <= MAX_RARE, report
        assert openings <= MAX_OPENINGS * count, group
