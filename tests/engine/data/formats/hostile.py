"""Hostile data files, each with the rows or the error that reading it must give.

`Case.make` writes the file; the repository has none. `rows` are the cells read with the recognised
reading; `line` and `error` are the line and a part of the text of the error.
"""

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Cells = tuple[str, ...]


class Case(NamedTuple):
    name: str
    make: Callable[[Path], None]
    rows: list[Cells] | None = None
    line: int = 0
    error: str = ""
    notes: str = ""  # must be in the notes of the recognition or of the reading


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    return data(content.encode(encoding))


def data(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def nested(levels: int) -> str:
    return f'{{"text": "a", "more": {"[" * levels}{"]" * levels}}}\n'


def documents() -> dict[str, str]:
    """The good rows in the JSON layouts that programs write."""
    rows = [{"text": t, "label": x} for t, x in GOOD]
    names = list(rows[0])
    columns = {name: [row[name] for row in rows] for name in names}
    indexed = {name: {str(n): cell for n, cell in enumerate(columns[name])} for name in names}
    split = {"columns": names, "index": [0, 1, 2], "data": [list(row.values()) for row in rows]}
    result = {"list": rows, "columns": columns, "indexed": indexed, "split": split}
    result |= {"wrapped": {"version": 1, "data": rows}, "rows": dict(zip("012", rows, strict=True))}
    return {
        f"{name}-{indent}": json.dumps(value, indent=indent)
        for name, value in result.items()
        for indent in (None, 1)
    }


def trailing_tabs() -> str:
    """The good rows with a tab at their end."""
    return "".join(f"{t}\t{x}\t\n" for t, x in GOOD)


def zip_bytes(member: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, "x")
    return out.getvalue()


def sparse_file(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(64 * 1024**3)


def link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the first bytes of old Office files
GOOD = [("a fine day", "pos"), ("a bad day", "neg"), ("another fine day", "pos")]
GOOD_CSV = "text,label\n" + "".join(f"{t},{label}\n" for t, label in GOOD)
MANY = [(f"text number {n}", "pos" if n % 2 else "neg") for n in range(40)]
MANY_CSV = "text,label\n" + "".join(f'"{t}",{label}\n' for t, label in MANY)


def with_row(line: int, content: str) -> str:
    """The 40 quoted rows with one line replaced."""
    lines = MANY_CSV.splitlines(keepends=True)
    lines[line - 1] = content + "\n"
    return "".join(lines)


CASES = [
    Case("good.csv", text(GOOD_CSV), GOOD),
    Case("crlf.csv", text(GOOD_CSV.replace("\n", "\r\n")), GOOD),
    Case("old-mac.csv", text(GOOD_CSV.replace("\n", "\r")), GOOD),
    Case("no-end.csv", text(GOOD_CSV.rstrip()), GOOD),
    Case("bom.csv", text("\ufeff" + GOOD_CSV), GOOD),
    Case("utf-16.csv", text(GOOD_CSV, "utf-16"), GOOD),
    Case("utf-16-le.csv", text(GOOD_CSV, "utf-16-le"), GOOD, notes="utf-16-le"),
    Case("utf-16-be.csv", text(GOOD_CSV, "utf-16-be"), GOOD, notes="utf-16-be"),
    Case("utf-32.csv", text(GOOD_CSV, "utf-32"), GOOD),
    Case(
        "cp1252.csv",
        text("text,label\n“Schöne Grüße” – naïve café,1\nÜber den Wolken,0\n", "cp1252"),
        [("“Schöne Grüße” – naïve café", "1"), ("Über den Wolken", "0")],
        notes="cp1252",
    ),
    Case(
        "latin-1.csv",
        text("text,label\nune journée d'été,1\nà bientôt,0\n", "latin-1"),
        [("une journée d'été", "1"), ("à bientôt", "0")],
        notes="not UTF-8",
    ),
    Case(
        "cyrillic.csv",
        text("text,label\n" + "Это очень хороший фильм про любовь и войну,да\n" * 20, "cp1251"),
        [("Это очень хороший фильм про любовь и войну", "да")] * 20,
        notes="cp1251",
    ),
    Case(
        "one-bad-byte.csv",
        data("text,label\nсмотри,1\nкино,0\n".encode() * 5 + b"\xff,1\n"),
        line=16,
        error="not text in utf-8",
    ),
    Case("semicolon.csv", text(GOOD_CSV.replace(",", ";")), GOOD),
    Case("tabs.csv", text(GOOD_CSV.replace(",", "\t")), GOOD),
    Case("pipe.csv", text(GOOD_CSV.replace(",", "|")), GOOD),
    Case("no-header.csv", text(GOOD_CSV.partition("\n")[2]), GOOD),
    Case("quoted.csv", text(MANY_CSV), MANY),
    Case(
        "line-breaks.csv",
        text('text,label\n"two\nlines",a\n"one, ""quoted""",b\nplain,a\n'),
        [("two\nlines", "a"), ('one, "quoted"', "b"), ("plain", "a")],
        notes="line breaks",
    ),
    Case("lone-quote.csv", text(with_row(7, '"never closed,pos')), line=7, error="quote"),
    Case("quote-to-the-end.csv", text(MANY_CSV + '"never closed,pos\n'), line=42, error="never"),
    Case(
        "text-behind-quote.csv", text(with_row(9, '"good" film, really,pos')), line=9, error="quote"
    ),
    Case(
        "swallowed-rows.csv",
        text('text,label\n"begins,a\nfilm one,b\nfilm two,a\nends",b\n' + "one more,a\n" * 9),
        [('"begins', "a"), ("film one", "b"), ("film two", "a"), ('ends"', "b")]
        + [("one more", "a")] * 9,
        notes="not balanced",
    ),
    Case(
        "swallowed-rows-among-quotes.csv",
        text('text,label\n"x, y",a\n"begins,a\nfilm one,b\nends",b\n' + "one more,a\n" * 9),
        [("x, y", "a"), ("begins,a\nfilm one,b\nends", "b"), *[("one more", "a")] * 9],
        notes="a quote may be missing",
    ),
    Case("extra-cell.csv", text(with_row(5, "hello, world,pos")), line=5, error="3 cells"),
    Case("missing-cell.csv", text(with_row(6, "no label here")), line=6, error="1 cell"),
    Case(
        "after-line-breaks.csv",
        text('text,label\n"one\ntwo\nthree",a\nshort\nplain,a\n' + "more text,b\n" * 20),
        line=5,
        error="1 cell",
    ),
    Case(
        "empty-extra-cells.csv",
        text(GOOD_CSV.replace("bad day,neg", "bad day,neg,,")),
        GOOD,
        notes="beyond the last column",
    ),
    Case(
        "empty-lines.csv", text(GOOD_CSV.replace("\na bad", "\n\n\na bad")), GOOD, notes="2 times"
    ),
    Case(
        "null-words.csv",
        text("text,label\nNA,null\nnull,NA\nNone,nan\n,NA\n"),
        [("NA", "null"), ("null", "NA"), ("None", "nan"), ("", "NA")],
    ),
    Case(
        "numbers.csv",
        text("text,label\none,01\ntwo,1\nthree,1.0\nfour,1e0\n"),
        [("one", "01"), ("two", "1"), ("three", "1.0"), ("four", "1e0")],
    ),
    Case(
        "formulas.csv",
        text('text,label\n=1+1,a\n@SUM(A1),b\n"=HYPERLINK(""x"")",a\n'),
        [("=1+1", "a"), ("@SUM(A1)", "b"), ('=HYPERLINK("x")', "a")],
    ),
    Case(
        "unicode.csv",
        text("text,label\nab\u202eרת\u200d👩‍👩‍👧\u0301,a\n\u200b\u2028,b\nx\x00y,a\n"),
        [("ab\u202eרת\u200d👩‍👩‍👧\u0301", "a"), ("\u200b\u2028", "b"), ("x\x00y", "a")],
    ),
    Case(
        "markup.csv",
        text("text,label\n<b>x</b> &amp; <img src=x>,<i>\nplain,<i>\n"),
        [("<b>x</b> &amp; <img src=x>", "<i>"), ("plain", "<i>")],
    ),
    Case(
        "twin-columns.csv",
        text("text,text,,_line\na b c,d,e,f\n"),
        [("a b c", "d", "e", "f")],
        notes="renamed",
    ),
    Case(
        "long-cell.csv",
        text(f"text,label\n{'x' * 2_000_000},a\ny,b\n"),
        [("x" * 2_000_000, "a"), ("y", "b")],
    ),
    Case(
        "many-columns.csv",
        text(
            "text,"
            + ",".join(f"c{n}" for n in range(2_999))
            + "\n"
            + ",".join(["v"] * 3_000)
            + "\n"
        ),
        [("v",) * 3_000],
    ),
    Case(
        "too-many-columns.csv",
        text("a," * 20_000 + "b\n" + "1," * 20_000 + "2\n"),
        line=1,
        error="columns",
    ),
    Case("header-only.csv", text("text,label\n"), []),
    Case(
        "quotes-in-text.tsv",
        text('text\tlabel\n"whom" he said\t1\n5" long\t0\n"lone\t1\n'),
        [('"whom" he said', "1"), ('5" long', "0"), ('"lone', "1")],
    ),
    Case(
        "ragged.tsv", text("text\tlabel\na b\t1\nc d\t0\textra\ne f\t1\n"), line=3, error="3 cells"
    ),
    Case(
        "good.jsonl",
        text("".join(json.dumps({"text": t, "label": x}) + "\n" for t, x in GOOD)),
        GOOD,
    ),
    Case(
        "jsonl.txt",
        text("".join(json.dumps({"text": t, "label": x}) + "\n" for t, x in GOOD)),
        GOOD,
    ),
    Case("broken.jsonl", text('{"text": "a"}\n{"text": "b",}\n'), line=2, error="valid JSON"),
    Case("list.jsonl", text('{"text": "a"}\n["b"]\n'), line=2, error="a list"),
    Case("nan.jsonl", text('{"text": "a", "score": NaN}\n'), line=1, error="NaN"),
    Case("twins.jsonl", text('{"text": "a"}\n{"text": "b", "text": "c"}\n'), line=2, error="twice"),
    Case("deep.jsonl", text('{"text": ' + "[" * 100_000 + "\n"), line=1, error="nested"),
    Case("levels.jsonl", text(nested(330)), line=1, error="100 levels"),
    Case("more-levels.jsonl", text(nested(960)), line=1, error="100 levels"),
    Case("few-levels.jsonl", text(nested(90)), [("a", "[" * 90 + "]" * 90)]),
    Case("array.json", text('[\n {"text": "a"},\n {"text": "b"}\n]\n'), [("a",), ("b",)]),
    *(Case(f"{name}.json", text(content), GOOD) for name, content in documents().items()),
    Case("texts.json", text('["a b",\n "c d"]'), [("a b",), ("c d",)]),
    Case("lists.json", text('[["a b", 1],\n ["c d", null]]'), [("a b", "1"), ("c d", "")]),
    Case("ragged.json", text('[["a b", "x"],\n ["c d"]]'), error="not a table"),
    Case("numbers.json", text("[1, 2, 3]"), error="not a table"),
    Case("deep.json", text("[" * 500 + "]" * 500), error="not a table"),
    Case("one-level.json", text("[" * 5_000 + "]" * 5_000), error="nested"),
    Case("settings.json", text('{\n "lr": 1,\n "name": "x"\n}\n'), error="not a table"),
    Case("uneven.json", text('{\n "a": [1, 2],\n "b": [1]\n}\n'), error="not a table"),
    Case("broken.json", text('[\n {"text": "a",}\n]\n'), line=2, error="valid JSON"),
    *(
        Case(f"{name}-at-the-end.tsv", text(header + "\n" + trailing_tabs()), GOOD, notes="beyond")
        for name, header in {"usual": "text\tlabel\t", "own": "text\tkind_of\t"}.items()
    ),
    Case("commas-at-the-end.csv", text("text,label,\n" + trailing_tabs().replace("\t", ",")), GOOD),
    Case(
        "unnamed.csv", text("text,label,\na b,c,\nd e,f,g\n"), [("a b", "c", ""), ("d e", "f", "g")]
    ),
    Case(
        "index.csv",
        text(",remark_of,kind_of\n" + "".join(f"{n},{t},{x}\n" for n, (t, x) in enumerate(GOOD))),
        [(str(n), *cells) for n, cells in enumerate(GOOD)],
    ),
    Case(
        "counted-columns.csv",
        text(
            "".join(
                ",".join(f"{start}{n}" for n in range(3_000)) + "\n" for start in ("c", "v", "w")
            )
        ),
        [tuple(f"{start}{n}" for n in range(3_000)) for start in ("v", "w")],
    ),
    Case(
        "values.jsonl",
        text(
            '{"text": "a", "n": 1.0, "m": {"k": [1, 1.50, "ü", null]}}\n'
            '\n{"n": 01e5, "text": null}\n'.replace("01e5", "1e5")
            + f'{{"text": "\\ud800x", "n": {"9" * 5_000}, "m": true}}\n'
        ),
        [
            ("a", "1.0", '{"k": [1, 1.50, "ü", null]}'),
            ("", "1e5", ""),
            ("\ufffdx", "9" * 5_000, "true"),
        ],
        notes="lone surrogate",
    ),
    Case("lines.txt", text("one line\nanother line\n"), [("one line",), ("another line",)]),
    Case("paragraphs.txt", text("a\nb\n\n\nc\n"), [("a\nb",), ("c",)]),
    Case(
        "commas.txt",
        text("first, with commas\nsecond, too\n"),
        [("first, with commas",), ("second, too",)],
    ),
    Case("empty.csv", data(b""), error="empty"),
    Case("spaces.txt", data(b" \n\t\r\n  "), error="white space"),
    Case("bom-only.txt", data(b"\xef\xbb\xbf"), error="white space"),
    Case("book.xlsx", data(zip_bytes("[Content_Types].xml")), error="not a workbook"),
    Case("renamed.csv", data(zip_bytes("[Content_Types].xml")), error="not a workbook"),
    Case("packed.csv", data(zip_bytes("data.csv")), [("x",)]),
    Case("data.csv.gz", data(gzip.compress(b"text\na b\n")), [("a b",)]),
    Case("cut.csv.gz", data(gzip.compress(b"text\na b\n")[:-9]), error="damaged or incomplete"),
    Case("cut.zip", data(zip_bytes("data.csv")[:-30]), error="damaged or incomplete"),
    Case("half.parquet", data(b"PAR1" + bytes(50)), error="damaged or incomplete"),
    Case("half.arrow", data(b"ARROW1" + bytes(50)), error="damaged or incomplete"),
    Case("stream.arrow", data(b"\xff\xff\xff\xff" + bytes(9)), error="damaged or incomplete"),
    Case("table.xls", text("<table><tr><td>a</td></tr></table>"), error="name of an Excel file"),
    Case("old.xls", data(OLE + bytes(600)), error="not a workbook"),
    Case("locked.xlsx", data(OLE + "EncryptedPackage".encode("utf-16-le")), error="password"),
    Case("files.tar", data(bytes(257) + b"ustar" + bytes(300)), error="tar archive"),
    Case("paper.txt", data(b"%PDF-1.7\n"), error="PDF"),
    Case("noise.csv", data(bytes(range(256)) * 40), error="binary"),
    Case("zeros.txt", data(bytes(5_000)), error="binary"),
    Case("page.csv", text("<!DOCTYPE html>\n<html><body>404</body></html>\n"), error="web page"),
    Case(
        "pointer.csv",
        text("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        error="Git LFS",
    ),
    Case(
        "splits.json",
        text('{"train": [{"text": "a b"}, {"text": "c d"}], "test": [{"text": "e f"}]}'),
        error="its lists train, test are splits",
    ),
    Case(
        "intents.json",
        text('{"val": [["a b", "x"]],\n "train": [["c d", "y"]],\n "version": 1}'),
        error="its lists val, train are splits",
    ),
    Case("endless.csv", sparse_file, error="GiB"),
    Case("folder.csv", Path.mkdir, error="folder"),
    Case("missing.csv", lambda path: None, error="does not exist"),
    Case(
        "dangling.csv",
        lambda path: path.symlink_to(path.with_name("nowhere")),
        error="does not exist",
    ),
]
if os.name == "posix":
    CASES += [
        Case("pipe.fifo", os.mkfifo, error="pipe"),
        Case("zero.csv", link_to_zero, error="device"),
    ]
