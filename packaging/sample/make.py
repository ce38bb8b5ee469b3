"""Create the sample data set: passages of Wikipedia, labelled by the topic of their article.

    python packaging/sample/make.py ASSETS [--out resources/sample/topics.csv]

Reads `corpora/enwiki2015-a.tar.xz` among the shared assets and writes a CSV in UTF-8 with the
columns text, topic, article: one passage of two sentences from each article, as many of each topic,
in mixed order. The result depends on the input alone, byte for byte. Needs the standard library
only, and about a minute.

The topic of an article follows from its first sentence (“… was an American composer …”); articles
with two topics or none are left out. The passage comes from further on, has no word of the title
and none that reveals its topic, and is plain: 15 to 40 words without digits and brackets.
Classifying it takes knowledge of word meanings. resources/sample/README.md describes the result.
"""

import argparse
import csv
import html
import random
import re
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "starter"))
from corpus import ARTICLE, OTHER_TITLES, Document, clean, sentences

SEED = 2015
OF_EACH_TOPIC = 100
FEWEST, MOST = 15, 40  # words
LONG = 4  # min. length of title words that a passage must not have
TOPICS = {
    "animals and plants": r"species|genus|breed|order of|flowering|plants?|animals?|birds?|fish"
    r"|mammals?|insects?|dinosaurs?|trees?|fruit",
    "chemistry": r"chemical|compounds?|alloys?|acids?|minerals?|metals?|molecules?|isotopes?",
    "computing": r"programming|software|operating system|computers?|microprocessor|file format"
    r"|algorithm|protocol|data structure",
    "games and sport": r"games?|sports?|football|footballer|baseball|basketball|hockey|tennis"
    r"|boxer|racing|player|club|athlete|wrestler|golfer",
    "mathematics": r"mathemat\w+|theorem|geometry|algebra|equation|statistics|function|integer"
    r"|polynomial",
    "music": r"band|singer|album|musician|song|songwriter|composer|guitarist|musical|opera|rapper",
    "places": r"city|town|river|island|lake|county|country|province|municipality|mountain|village"
    r"|capital|region",
    "religion and myth": r"god|goddess|saint|pope|deity|mythology|bishop|religious|christian"
    r"|theologian|church|prophet|monk|biblical",
    "stories and films": r"novel|novelist|poet|poem|writer|author|short story|playwright|literary"
    r"|film|television|sitcom|actor|actress|movie|filmmaker",
    "war": r"war|battle|military|weapon|rifle|tank|aircraft|warship|fighter|missile|army|soldier"
    r"|naval|siege|general",
}
TELLS = {topic: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for topic, words in TOPICS.items()}
DEFINITION = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the|any) (.{0,90})")
PLAIN = re.compile(r"[A-Z][A-Za-z ,;:.'-]*\.")
REPOSITORY = Path(__file__).resolve().parents[2]

Article = tuple[str, Document]  # title and paragraphs


def articles(archive: Path) -> Iterator[Article]:
    """The articles of the archive with a plain title, cleaned."""
    with tarfile.open(archive, "r|xz") as files:
        for member in files:
            reader = files.extractfile(member) if "wiki_" in member.name else None
            if reader is not None:
                yield from titled(reader.read().decode("utf-8", errors="replace").splitlines())


def titled(lines: list[str]) -> Iterator[Article]:
    """Articles between their `<doc …>` and `</doc>` lines."""
    title, document = "", []
    for line in lines:
        if opening := ARTICLE.match(line):
            title, document = html.unescape(opening["title"]), []
        elif line == "</doc>":
            is_plain = not OTHER_TITLES.match(title) and not re.search(r"\d", title)
            if document and is_plain:
                yield title, document
        elif line != title and (paragraph := clean(line)):
            document.append(paragraph)


def topic(document: Document) -> str:
    """Topic stated by the first sentence; empty unless there is exactly one."""
    definition = DEFINITION.search(sentences(document[0])[0])
    told = [name for name, words in TELLS.items() if definition and words.search(definition[1])]
    return told[0] if len(told) == 1 else ""


def passages(title: str, document: Document, about: str) -> list[str]:
    """Pairs of adjacent sentences without a word that reveals the topic."""
    named = [word for word in re.findall(r"[a-z]+", title.lower()) if len(word) >= LONG]
    pairs = [
        f"{first} {second}"
        for paragraph in document[1:]
        for first, second in pairwise(sentences(paragraph))
    ]
    return [
        text
        for text in pairs
        if FEWEST <= len(text.split()) <= MOST
        and PLAIN.fullmatch(text)
        and not TELLS[about].search(text)
        and not any(word in text.lower() for word in named)
    ]


def chosen(found: Iterator[Article]) -> list[tuple[str, str, str]]:
    """Rows of text, topic and title of the article, in mixed order."""
    dice = random.Random(SEED)
    by_topic: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for title, document in found:
        about = topic(document)
        if about and (texts := passages(title, document, about)):
            by_topic[about].append((dice.choice(texts), about, title))
    rows = []
    for name in sorted(by_topic):
        dice.shuffle(by_topic[name])
        rows += by_topic[name][:OF_EACH_TOPIC]
    dice.shuffle(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample data set.")
    parser.add_argument("assets", type=Path, help="the folder that holds corpora/")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "resources/sample/topics.csv")
    asked = parser.parse_args()
    rows = chosen(articles(asked.assets / "corpora" / "enwiki2015-a.tar.xz"))
    with open(asked.out, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("text", "topic", "article"))
        table.writerows(rows)
    counts = Counter(row[1] for row in rows)
    size = asked.out.stat().st_size
    print(f"{asked.out.name}: {len(rows):,} rows, {size:,} bytes, {dict(sorted(counts.items()))}")


if __name__ == "__main__":
    main()
