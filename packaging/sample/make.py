"""Make the sample data set: sentences of State of the Union speeches, and the era they are from.

    python packaging/sample/make.py ASSETS [--out resources/sample/speeches.csv]

Reads `corpora/sotu` among the shared assets and writes a CSV in UTF-8 with the columns text, era,
year, president: as many sentences of each era, spread over its speeches, in mixed order. The
result depends on the input alone, byte for byte. Needs the standard library only.

A sentence is taken where it is clean and gives its era away by its words alone: 8 to 40 words, no
digits (a year would tell all), no dashes or brackets (the scanned ones are often torn), only words
that the speeches use at least five times (a misread one is rarer), and none of the forms of
address. What came of it is in resources/sample/README.md.
"""

import argparse
import csv
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "starter"))
from corpus import decoded, sentences

SEED = 1790
ERAS = {1860: "1790–1860", 1932: "1861–1932", 9999: "1933–2021"}  # last year of each
OF_EACH_ERA = 720
FEWEST, MOST = 8, 40  # words
USES = 5  # of every word, in all speeches together
PLAIN = re.compile(r"[A-Z][A-Za-z ,;:.?!']*[.?!]")
ADDRESS = re.compile(
    r"fellow|citizens|Mr\. |Madam|Speaker|gentlemen|thank you|God bless", re.IGNORECASE
)
WORD = re.compile(r"[A-Za-z']+")
REPOSITORY = Path(__file__).resolve().parents[2]


def era(year: int) -> str:
    return next(name for last, name in ERAS.items() if year <= last)


def president(name: str) -> str:
    """The name as it is written, from “george_w_bush” and its like."""
    parts = name.replace("mc_kinley", "mcKinley").split("_")
    return " ".join(
        f"{part.upper()}." if len(part) == 1 else part[0].upper() + part[1:] for part in parts
    )


def is_clean(sentence: str, uses: Counter[str]) -> bool:
    words = WORD.findall(sentence)
    return (
        FEWEST <= len(words) <= MOST
        and PLAIN.fullmatch(sentence) is not None
        and not ADDRESS.search(sentence)
        and not any(word.isupper() and len(word) > 1 for word in words)
        and all(uses[word.lower()] >= USES for word in words)
    )


def chosen(folder: Path) -> list[tuple[str, str, int, str]]:
    """Rows of text, era, year and president; from the speeches of an era in turn."""
    speeches = {
        path: sentences(" ".join(decoded(path).split())) for path in sorted(folder.glob("*.txt"))
    }
    uses = Counter(
        word.lower() for said in speeches.values() for text in said for word in WORD.findall(text)
    )
    dice = random.Random(SEED)
    by_era: dict[str, list[list[tuple[str, str, int, str]]]] = defaultdict(list)
    for path, said in speeches.items():
        year, name = re.fullmatch(r"(\d{4})_(\w+)_[a-z]+", path.stem).groups()  # type: ignore[union-attr]
        rows = [
            (text, era(int(year)), int(year), president(name))
            for text in dict.fromkeys(said)
            if is_clean(text, uses)
        ]
        dice.shuffle(rows)
        by_era[era(int(year))].append(rows)
    found: dict[str, tuple[str, str, int, str]] = {}
    for of_era in by_era.values():
        dealt = [
            row
            for turn in range(max(map(len, of_era)))
            for rows in of_era
            for row in rows[turn : turn + 1]
        ]
        fresh = [row for row in dealt if row[0] not in found][:OF_EACH_ERA]
        found |= {row[0]: row for row in fresh}
    mixed = list(found.values())
    dice.shuffle(mixed)
    return mixed


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample data set.")
    parser.add_argument("assets", type=Path, help="the folder that holds corpora/")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "resources/sample/speeches.csv")
    asked = parser.parse_args()
    rows = chosen(asked.assets / "corpora" / "sotu")
    with open(asked.out, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("text", "era", "year", "president"))
        table.writerows(rows)
    counts = Counter(row[1] for row in rows)
    size = asked.out.stat().st_size
    print(f"{asked.out.name}: {len(rows):,} rows, {size:,} bytes, {dict(sorted(counts.items()))}")
    speeches, presidents = {row[2:] for row in rows}, {row[3] for row in rows}
    print(f"from {len(speeches)} speeches of {len(presidents)} presidents")


if __name__ == "__main__":
    main()
