"""Create the pre-training text of the starter model from the corpora among the shared assets.

    python packaging/starter/corpus.py ASSETS TRAIN.txt [--held-out DEV.txt] [--sources NAMES]

Reads `corpora/enwiki2015-a.tar.xz` (Wikipedia in the format of WikiExtractor), `corpora/sotu`
(speeches, one on a line) and `corpora/gutenberg-nltk` (books, hard-wrapped), and writes UTF-8: one
paragraph on a line, documents separated by an empty line, shuffled by document with a fixed seed.
About one document in a hundred goes to the held-out file instead. The result depends on the input
alone, byte for byte. Needs the standard library only, and about a minute.

Left out: titles, headings, lists, tables and code; sentences with a formula or remaining markup;
repeated paragraphs; articles of fewer than three sentences; Shakespeare's plays, whose old spelling
(“vpon”, “haue”) would fill the vocabulary.
"""

import argparse
import hashlib
import html
import random
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

SEED = 20151
HELD_OUT = 0.01  # fraction of the documents
FEWEST_SENTENCES = 3  # of a document
FEWEST_WORDS = 8  # of a paragraph of Wikipedia: shorter ones are headings or list items
BOOK_PARAGRAPHS = 60  # of a book in one document, so that no whole book is held out
SPEECH_SENTENCES = 6  # of a speech in one paragraph: the files have no paragraphs
OLD_SPELLING = ("shakespeare-",)

Document = list[str]  # of paragraphs

ARTICLE = re.compile(r'^<doc id="[^"]*" url="[^"]*" title="(?P<title>[^"]*)">$')
OTHER_TITLES = re.compile(
    r"^(List of|Lists of|Index of|Outline of|Timeline of"
    r"|(Category|File|Help|MediaWiki|Module|Portal|Template|User|Wikipedia)( talk)?:)"
)
TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
EMPTY_BRACKETS = re.compile(r"\s*[(\[][\s,;:/]*[)\]]")
AFTER_BRACKET = re.compile(r"\(\s*[,;:][\s,;:]*")
MARK_UP = re.compile(
    r"formula_\d|codice_\d|[{}|<>\\_=]|\[\[|\]\]|\(\s*\)|https?:|www\.|&\w+;|ISBN|#if|\.\.\.\.|::"
)
ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|Messrs"
    r"|No|Nos|Vol|vol|pp|ca|cf|vs|viz|etc|approx|Inc|Ltd|Co|Corp|Mt|Ft|Jan|Feb|Mar|Apr|Jun|Jul|Aug"
    r"|Sept|Sep|Oct|Nov|Dec|e\.g|i\.e|U\.S|U\.K|U\.N|a\.m|p\.m|Ph\.D))\.$"
)
BREAK = re.compile(r"(?<=[.!?])([\"'”’)\]]*)\s+(?=[\"'“‘(\[]*[A-Z0-9])")
ENDED = re.compile(r"[.!?][\"'”’)\]]*$")


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph at full stops, except after an abbreviation or an initial."""
    found, start = [], 0
    for stop in BREAK.finditer(paragraph):
        if not ABBREVIATED.search(paragraph, start, stop.start()):
            found.append(paragraph[start : stop.end(1)].strip())
            start = stop.end()
    rest = paragraph[start:].strip()
    return [*found, rest] if rest else found


def wikipedia(archive: Path) -> Iterator[Document]:
    """The articles of the archive, cleaned."""
    with tarfile.open(archive, "r|xz") as files:
        for member in files:
            reader = files.extractfile(member) if "wiki_" in member.name else None
            if reader is not None:
                yield from articles(reader.read().decode("utf-8", errors="replace").splitlines())


def articles(lines: Iterable[str]) -> Iterator[Document]:
    """Articles between their `<doc …>` and `</doc>` lines; the first line repeats the title."""
    title, document = "", []
    for line in lines:
        if opening := ARTICLE.match(line):
            title, document = html.unescape(opening["title"]), []
        elif line == "</doc>":
            if not OTHER_TITLES.match(title) and "(disambiguation)" not in title:
                yield document
        elif line != title and (paragraph := clean(line)):
            document.append(paragraph)


def clean(line: str) -> str:
    """Complete, plain sentences of a line of an article; empty if there are none."""
    text = TAG.sub(" ", html.unescape(line)).replace("\xa0", " ")
    text = AFTER_BRACKET.sub("(", EMPTY_BRACKETS.sub("", text))
    text = " ".join(text.replace('""', '"').split())
    if line.startswith(("*", "#", ":", ";", "!", "•")) or len(text.split()) < FEWEST_WORDS:
        return ""
    kept = [s for s in sentences(text) if ENDED.search(s) and not MARK_UP.search(s)]
    paragraph = " ".join(s for s in kept if "may refer to" not in s and "can refer to" not in s)
    return paragraph if len(paragraph.split()) >= FEWEST_WORDS and is_english(paragraph) else ""


def is_english(text: str) -> bool:
    """True if at least 7 of 8 characters are ASCII letters, commas, full stops or spaces."""
    plain = sum(c.isascii() and (c.isalpha() or c in " ,.") for c in text)
    return plain >= 0.875 * len(text)


def speeches(folder: Path) -> Iterator[Document]:
    """Each speech as a document; its only line is split into paragraphs of a few sentences."""
    for path in sorted(folder.glob("*.txt")):
        said = sentences(" ".join(decoded(path).split()))
        pieces = range(0, len(said), SPEECH_SENTENCES)
        yield [" ".join(said[i : i + SPEECH_SENTENCES]) for i in pieces]


def books(folder: Path) -> Iterator[Document]:
    """Sections of each book, whose paragraphs are separated by empty lines."""
    for path in sorted(folder.glob("*.txt")):
        if path.name.startswith(OLD_SPELLING):
            continue
        blocks = re.split(r"\n\s*\n", decoded(path).partition("]")[2])  # after “[Title by Author]”
        unwrapped = (" ".join(block.split()) for block in blocks)
        plain = (re.sub(r"\s*--+\s*", " — ", p).replace("_", "").strip() for p in unwrapped)
        kept = [p for p in plain if ENDED.search(p) and not p.isupper() and " " in p]
        for i in range(0, len(kept), BOOK_PARAGRAPHS):
            yield kept[i : i + BOOK_PARAGRAPHS]


def decoded(path: Path) -> str:
    """The text of a file in UTF-8 or else Latin-1, with plain line ends."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def long_enough(document: Document) -> bool:
    return sum(len(sentences(paragraph)) for paragraph in document) >= FEWEST_SENTENCES


def once(documents: Iterable[Document], seen: set[bytes]) -> Iterator[Document]:
    """Documents without paragraphs of earlier ones; short documents are left out."""
    for document in documents:
        fresh = []
        for paragraph in document:
            print_of_it = hashlib.blake2b(paragraph.encode(), digest_size=12).digest()
            if print_of_it not in seen:
                seen.add(print_of_it)
                fresh.append(paragraph)
        if long_enough(fresh):
            yield fresh


def write(path: Path, documents: list[Document]) -> str:
    """Write the documents and describe their size."""
    text = "\n\n".join("\n".join(document) for document in documents) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    paragraphs = sum(len(document) for document in documents)
    return (
        f"{path.name}: {len(documents):,} documents, {paragraphs:,} paragraphs, "
        f"{len(text.split()):,} words, {len(text.encode()):,} bytes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the corpus of the starter model.")
    parser.add_argument("assets", type=Path, help="the folder that holds corpora/")
    parser.add_argument("train", type=Path, help="the file to write")
    parser.add_argument("--held-out", type=Path, help="default: dev.txt beside it")
    parser.add_argument("--sources", default="Wikipedia,speeches,books", help="default: all")
    asked = parser.parse_args()
    corpora = asked.assets / "corpora"
    every = {
        "Wikipedia": wikipedia(corpora / "enwiki2015-a.tar.xz"),
        "speeches": speeches(corpora / "sotu"),
        "books": books(corpora / "gutenberg-nltk"),
    }
    sources = {name: every[name] for name in asked.sources.split(",")}
    documents: list[Document] = []
    words: Counter[str] = Counter()
    seen: set[bytes] = set()
    for name, source in sources.items():
        found = list(once(source, seen))
        words[name] = sum(len(p.split()) for document in found for p in document)
        documents += found
        print(f"{name}: {len(found):,} documents, {words[name]:,} words")
    random.Random(SEED).shuffle(documents)
    cut = round(HELD_OUT * len(documents))
    print(write(asked.train, documents[cut:]))
    print(write(asked.held_out or asked.train.with_name("dev.txt"), documents[:cut]))


if __name__ == "__main__":
    main()
