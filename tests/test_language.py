"""Comments and docstrings are in plain English: rare words stay rare."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = (("app", "engine"), ("tests", "benchmarks", "tools", "packaging", "dev.py"))
RARE = ("nobody", "anew", "beside", "whoever", "told", "stands", "stand", "tells", "likewise")
RARE = (*RARE, "whatever")
MAX_WHERE, MAX_RARE = 12, 2  # in 10,000 words; well-kept projects of this field have 6 to 9 and 1
MAX_OPENINGS = 0.02  # of the docstrings


def python_files(path: Path) -> Iterator[Path]:
    yield from path.rglob("*.py") if path.is_dir() else [path]


def docstrings(code: str) -> Iterator[str]:
    """Texts in triple quotes that begin a line; a parser would take a minute for all files."""
    return (
        match[1].strip() for match in re.finditer(r'^ *"""(.*?)"""', code, re.MULTILINE | re.DOTALL)
    )


def comments(code: str) -> Iterator[str]:
    return (match[1] for match in re.finditer(r"(?:^ *|  )# (.+)$", code, re.MULTILINE))


def test_comments_and_docstrings_are_plain_english():
    for group in GROUPS:
        words, openings, count, positions = Counter[str](), 0, 0, list[str]()
        for file in sorted(file for name in group for file in python_files(ROOT / name)):
            code = file.read_text("utf-8")
            documented = list(docstrings(code))
            count += len(documented)
            openings += sum(bool(re.match(r"(What|Whether|How|Where)\b", d)) for d in documented)
            for text in (*documented, *comments(code)):
                in_text = re.findall(r"[a-z']+", text.lower())
                words.update(in_text)
                if {"where", *RARE} & set(in_text):
                    positions.append(f"{file.relative_to(ROOT)}: {' '.join(text.split())[:100]}")
        per_word = 10_000 / max(words.total(), 1)
        report = "\n".join(positions)
        assert words["where"] * per_word <= MAX_WHERE, report
        assert sum(words[word] for word in RARE) * per_word <= MAX_RARE, report
        assert openings <= MAX_OPENINGS * count, group
