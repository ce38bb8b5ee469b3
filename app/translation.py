"""Texts of the window in the user's language.

A language is a line in `LANGUAGES` and a file in `resources/translations`, created by `dev.py
texts`. Missing texts stay English. A text has one translation everywhere; the second argument of
`tr` distinguishes two meanings of one English text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLocale, QObject, QTranslator

from engine.files.shipped import resources
from engine.phrases import Phrase, apply_plural, render


def one_or_more(number: int) -> int:
    """Plural form of English, German, Spanish and many others."""
    return 0 if number == 1 else 1


@dataclass(frozen=True)
class Language:
    """A language of the window; `form` returns the plural form for a number."""

    code: str
    name: str  # in the language itself
    form: Callable[[int], int] = one_or_more
    forms: int = 2


LANGUAGES: tuple[Language, ...] = (Language("en", "English"),)


def find_language(code: str) -> Language:
    """Return the language with this code, or the system's for “”; English if it is unknown."""
    codes = [code] if code else [name.split("-")[0] for name in QLocale().uiLanguages()]
    languages = {language.code: language for language in LANGUAGES}
    return next(
        (languages[candidate] for candidate in codes if candidate in languages), LANGUAGES[0]
    )


class Translator(QTranslator):
    """English with plurals, overlaid by the file of a language."""

    def __init__(self, language: Language = LANGUAGES[0], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._language = language
        file = translation_file(language.code)
        self._translations = dict(entries(file)) if file.exists() else {}

    def isEmpty(self) -> bool:
        return False

    def translate(
        self, context: str, source: str, disambiguation: str | None = None, number: int = -1
    ) -> str:
        forms = self._translations.get((source, disambiguation or ""))
        if not forms or not all(forms):
            return apply_plural(source, number) if number >= 0 else source
        form = self._language.form(number) if number >= 0 else 0
        return forms[min(form, len(forms) - 1)]


def tr(text: str, number: int = -1, comment: str = "") -> str:
    """Translate a text outside a QObject; `number` replaces its %n."""
    return QCoreApplication.translate("", text, comment, number)


def marked(text: str) -> str:
    """Mark a text of a table for translation; `in_language` translates it when shown."""
    return text


def in_language(text: str) -> str:
    """Translate a marked text or a title of the engine."""
    return translated(text) if isinstance(text, Phrase) else _look_up(text, -1)


def translated(sentence: str) -> str:
    """Translate a phrase of the engine; a plain `str` stays as it is."""
    return render(sentence, _look_up)


def _look_up(text: str, number: int) -> str:
    return QCoreApplication.translate("", text, "", number)


def translation_file(code: str) -> Path:
    return resources() / "translations" / f"{code}.ts"


def entries(file: Path) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield (text, comment) and the forms of each translation in a .ts file."""
    from xml.etree import ElementTree as ET  # not needed for English

    for message in ET.parse(file).iter("message"):  # noqa: S314 (it comes with the program)
        forms = message.findall("translation/numerusform") or message.findall("translation")
        key = (message.findtext("source") or "", message.findtext("comment") or "")
        yield key, tuple(form.text or "" for form in forms)


def paragraphs(page: str) -> list[str]:
    """Paragraphs of a help page, each translated as one text."""
    return [part.strip() for part in re.split(r"\n\s*\n", page) if part.strip()]


def translated_page(page: str) -> str:
    """A help page in the user's language."""
    return "\n\n".join(in_language(part) for part in paragraphs(page))
