"""Glyphs that are not those of their characters, which no reader of a PDF can copy or find."""

from PySide6.QtGui import QFont, QTextDocument, QTextLayout

TEXT = "--into ##ing -> 2026-11-21 12:30 (London) [CLS] 8x8 3*4 <- a != b fi ffl (2) A-B @x"


def substituted_by(font: QFont, text: str = TEXT) -> str:
    """The characters of a text that the font shows by other glyphs than their own."""
    layout = QTextLayout(text, font)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    found = []
    for run in layout.glyphRuns(-1, -1, QTextLayout.GlyphRunRetrievalFlag.RetrieveAll):
        part, raw = run.sourceString(), run.rawFont()
        ends = [*run.stringIndexes()[1:], len(part)]
        for start, end, glyph in zip(run.stringIndexes(), ends, run.glyphIndexes(), strict=True):
            if raw.glyphIndexesForString(part[start:end]) != [glyph]:
                found.append(part[start:end])
    return "".join(found)


def substituted_in(document: QTextDocument) -> str:
    block, found = document.begin(), ""
    while block.isValid():
        for part in block.textFormats():
            font = part.format.font().resolve(document.defaultFont())
            found += substituted_by(font, block.text()[part.start : part.start + part.length])
        block = block.next()
    return found
