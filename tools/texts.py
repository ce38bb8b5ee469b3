"""Translatable texts, and the translation files.

    python3 dev.py texts          print the number of texts, and what each language lacks
    python3 dev.py texts de       create or update resources/translations/de.ts

An update keeps translations; texts no longer in the program are marked as vanished. The files are
Qt's (Linguist opens them); the program reads them directly.

Texts of the window are in `tr` and `translate`, those of the engine in `phrase`, in its errors and
notes, those of settings, tasks, metrics and formats in titles and descriptions, those of the
command line in its helps, and every paragraph of `resources/help` is one text.
"""

import ast
import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

from app.translation import LANGUAGES, Language, entries, paragraphs, translation_file

ROOT = Path(__file__).resolve().parent.parent
TRANSLATES = {"tr": 0, "translate": 1, "marked": 0, "phrase": 0}  # index of the argument
FILLED_ARGUMENTS = {  # how many of their first arguments are filled in
    **dict.fromkeys(("StudioError", "BadCheckpoint", "NotFinite", "RankDied"), 2),
    "note": 1,
}
FIELDS = ("title", "short", "description")  # of settings, tasks, metrics, formats and families
HELPS = ("Option", "Argument", "Typer")
MENTIONS = re.compile(
    rf"\b(?:{'|'.join([*TRANSLATES, *FILLED_ARGUMENTS])})\(|\btyper\b"
    rf"|\b(?:{'|'.join(FIELDS)}|help)="
)
COUNTED = re.compile(r"%L?n|\{n(?:!r)?(?::[^{}]*)?\}")


@dataclass
class SourceText:
    """One text. `comment` distinguishes texts that are equal in English."""

    context: str
    source: str
    comment: str = ""
    places: list[tuple[str, int]] = field(default_factory=list)

    @property
    def is_counted(self) -> bool:
        return bool(COUNTED.search(self.source))


class NotLiteral(ValueError):
    """A text built at run time, which cannot be translated."""


@cache
def collect() -> tuple[SourceText, ...]:
    """All texts, each once, in the order of the files."""
    texts: dict[tuple[str, str], SourceText] = {}
    for text in (*_in_code("app"), *_in_code("engine"), *_in_help()):
        key = (text.source, text.comment)
        if key in texts:
            texts[key].places += text.places
        else:
            texts[key] = text
    return tuple(texts.values())


def _in_code(package: str) -> Iterator[SourceText]:
    for file in sorted((ROOT / package).rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        code = file.read_text(encoding="utf-8")
        if not MENTIONS.search(code):
            continue  # parsing is slow
        context = "command line" if name.startswith("engine/cli/") else package
        for node in _walk(ast.parse(code)):
            for text in _find_texts(node, context):
                text.places.append((name, getattr(node, "lineno", 1)))
                yield text


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Like `ast.walk`, without names, constants and operators: twice as fast."""
    todo = deque([tree])
    while todo:
        yield (node := todo.popleft())
        for value in map(vars(node).get, node._fields):
            items = value if isinstance(value, list) else (value,)
            nodes = (item for item in items if isinstance(item, ast.AST) and item._fields)
            todo.extend(node for node in nodes if not isinstance(node, ast.Name | ast.Constant))


def _find_texts(node: ast.AST, context: str) -> Iterator[SourceText]:
    if isinstance(node, ast.FunctionDef) and context == "command line" and _is_command(node):
        yield SourceText(context, " ".join((ast.get_docstring(node) or "").split()))
    if not isinstance(node, ast.Call):
        return
    called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if called == "translate" and not (node.args and _literal(node.args[0]) is not None):
        return  # method of a painter or a table
    if called in TRANSLATES and len(node.args) > TRANSLATES[called]:
        index = TRANSLATES[called]
        for source in _literals(node.args[index]):
            yield SourceText(context, source, _comment(node, index))
    for source in filter(None, map(_literal, node.args[: FILLED_ARGUMENTS.get(called, 0)])):
        yield SourceText(context, source)
    for keyword in node.keywords:
        if context != "app" and keyword.arg in FIELDS and (text := _literal(keyword.value)):
            yield SourceText("settings", text)
        elif called in HELPS and keyword.arg == "help" and (text := _literal(keyword.value)):
            yield SourceText("command line", text)


def _comment(node: ast.Call, index: int) -> str:
    """Second argument of Qt's functions, or `comment` of ours."""
    keyword = next((word.value for word in node.keywords if word.arg == "comment"), None)
    after = node.args[index + 1 :] if isinstance(node.func, ast.Attribute) or index else []
    comment = keyword or (after[0] if after else None)
    return (_literal(comment) or "") if comment is not None else ""


def _is_command(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_") and "typer." in ast.unparse(node.args)


def _literals(node: ast.expr) -> Iterator[str]:
    """The text, or both of a conditional; raises NotLiteral for anything else."""
    if isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
    elif (text := _literal(node)) is not None:
        yield text
    elif not (
        isinstance(node, ast.Name) and node.id == "text"
    ):  # argument of a helper that passes it on
        raise NotLiteral(f"line {node.lineno}: {ast.unparse(node)}")


def _literal(node: ast.expr) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else None


def _in_help() -> Iterator[SourceText]:
    for file in sorted((ROOT / "resources" / "help").glob("*.md")):
        for part in paragraphs(file.read_text(encoding="utf-8")):
            yield SourceText("help", part, places=[(file.relative_to(ROOT).as_posix(), 1)])


def render(language: Language, texts: Sequence[SourceText], old_file: Path) -> bytes:
    """Content of a language file: all texts, with the translations of `old_file`."""
    translations = dict(entries(old_file)) if old_file.exists() else {}
    root = ET.Element("TS", version="2.1", sourcelanguage="en", language=language.code)
    contexts: dict[str, ET.Element] = {}
    for text in texts:
        if text.context not in contexts:
            contexts[text.context] = ET.SubElement(root, "context")
            ET.SubElement(contexts[text.context], "name").text = text.context
        forms = translations.pop((text.source, text.comment), ())
        _add(contexts[text.context], text, forms, language)
    if translations:
        vanished = ET.SubElement(root, "context")
        ET.SubElement(vanished, "name").text = "vanished"
        for (source, comment), forms in translations.items():
            _add(vanished, SourceText("", source, comment), forms, language, "vanished")
    ET.indent(root, " ")
    return b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n' + ET.tostring(root, "utf-8")


def _add(
    to: ET.Element, text: SourceText, forms: tuple[str, ...], language: Language, state: str = ""
) -> None:
    message = ET.SubElement(to, "message", {"numerus": "yes"} if text.is_counted else {})
    for file, line in text.places:
        ET.SubElement(message, "location", filename=file, line=str(line))
    ET.SubElement(message, "source").text = text.source
    if text.comment:
        ET.SubElement(message, "comment").text = text.comment
    state = state or ("" if all(forms) and forms else "unfinished")
    translation = ET.SubElement(message, "translation", {"type": state} if state else {})
    if text.is_counted:
        for form in forms or ("",) * language.forms:
            ET.SubElement(translation, "numerusform").text = form
    else:
        translation.text = forms[0] if forms else ""


def main(codes: list[str]) -> int:
    if {"-h", "--help"} & set(codes):
        print(__doc__)
        return 0
    found = collect()
    files = {place for text in found for place, _ in text.places}
    print(f"{len(found):,} texts in {len(files)} files")
    known = {language.code: language for language in LANGUAGES}
    for code in codes or [code for code in known if code != "en"]:
        language = known.get(code) or Language(code, code)
        file = translation_file(code)
        if codes:
            content = render(language, found, file)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        translated = dict(entries(file))
        missing = sum(not all(translated.get((t.source, t.comment), ("",))) for t in found)
        print(f"{file.relative_to(ROOT)}: {len(found) - missing:,} translated, {missing:,} not yet")
        if code not in known:
            print(f"To offer it, add a line for “{code}” to LANGUAGES in app/translation.py.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
