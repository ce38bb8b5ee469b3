"""Transcripts: the turns of speakers in the paragraphs of a document, or in subtitles."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from engine.config.dataset import Reading
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row
from engine.phrases import phrase

TIME = r"[\[(]?(?P<{}>\d{{1,2}}:\d\d(?::\d\d)?(?:[.,]\d+)?)[\])]?"
# “Anna: …”, “Anna (00:12): …”, “[00:12] Anna: …”, “Anna 00:12” above the text
TURN = re.compile(
    rf"(?:{TIME.format('before')}\s*[-–]?\s*)?(?P<speaker>[^\W\d_][^:\[\]()\n\t]{{0,40}}?)"
    rf"\s*(?:[-–]?\s*{TIME.format('behind')})?\s*(?P<end>:|\n|$)\s*(?P<text>.*)",
    re.DOTALL,
)
MIN_TURNS = 0.5  # of the paragraphs
MAX_NAME_WORDS = 2  # of a speaker who speaks once


CUE = re.compile(r"((?:\d+:)?\d\d:\d\d[.,]\d{1,3})\s+-->\s+(?:\d+:)?\d\d:\d\d[.,]\d{1,3}.*")
VOICE = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
MARKUP = re.compile(r"</?(?:[ibuc]|v|ruby|rt|lang|font|\d)[^>]*>")
SAMPLE_LINES = 50


class _Turn(NamedTuple):
    speaker: str
    time: str
    text: str


def read_turns(paragraphs: list[tuple[int, str]], remarks: Remarks) -> Content | None:
    """Columns of turns, and a row for each; None if the numbered paragraphs are no transcript."""
    turns = _turns(paragraphs)
    if not turns:
        return None
    remarks.add_note(phrase("This is a transcript: speakers and times were read as columns."))
    has_times = any(turn.time for _, turn in turns)
    columns = ("text", "speaker", *(("time",) if has_times else ()))
    rows = ((number, (turn.text, turn.speaker, turn.time)) for number, turn in turns)
    return Content(columns, (Row(number, cells[: len(columns)]) for number, cells in rows))


def _turns(paragraphs: list[tuple[int, str]]) -> list[tuple[int, _Turn]]:
    """The turns of a transcript; none if few paragraphs have a speaker.

    A name with a time is a speaker, and so is a name before a colon, if one of them comes again.
    """
    matches = [TURN.match(text) for _, text in paragraphs]
    names = Counter(match["speaker"] for match in matches if match and match["end"] == ":")
    again = any(count > 1 for count in names.values())
    heads = [
        match if match and (_time(match) or (again and _is_name(match, names))) else None
        for match in matches
    ]
    found = [match for match in heads if match]
    covered = len(found) + sum(1 for match in found if not match["text"])  # with the text below
    if covered < max(MIN_TURNS * len(paragraphs), 2) or len({m["speaker"] for m in found}) < 2:
        return []
    turns, speaker, time = list[tuple[int, _Turn]](), "", ""
    for (number, text), match in zip(paragraphs, heads, strict=True):
        if match:
            speaker, time, text = match["speaker"], _time(match), match["text"]
        if text:
            turns.append((number, _Turn(speaker, time, text)))
    return turns


def _is_name(match: re.Match[str], names: Counter[str]) -> bool:
    words = match["speaker"].split()
    is_short = len(words) <= MAX_NAME_WORDS and words[0][0].isupper()
    return match["end"] == ":" and (names[match["speaker"]] > 1 or is_short)


def _time(match: re.Match[str]) -> str:
    return match["before"] or match["behind"] or ""


def open_subtitles(lines: Lines, _reading: Reading, _remarks: Remarks) -> Content:
    """A row for each subtitle, with its speaker, if one is named, and its beginning."""
    cues = [*_cues(lines)]
    speakers = dict(_turns([(number, turn.text) for number, turn in cues]))
    rows = ((number, speakers.get(number, turn), turn) for number, turn in cues)
    cells = [(n, (turn.text, turn.speaker or cue.speaker, cue.time)) for n, turn, cue in rows]
    width = 3 if any(row[1] for _, row in cells) else 2
    columns = ("text", "speaker", "time") if width == 3 else ("text", "time")
    return Content(columns, (Row(n, row if width == 3 else row[::2]) for n, row in cells))


def _cues(lines: Lines) -> Iterator[tuple[int, _Turn]]:
    time, speaker, start, texts = "", "", 0, list[str]()
    for number, raw in enumerate((*lines, ""), start=1):
        line = raw.strip()
        if cue := CUE.fullmatch(line):
            time, start, texts, speaker = cue[1].replace(",", "."), number, [], ""
        elif line and time:
            voice = VOICE.search(line)
            speaker = voice[1] if voice else speaker
            texts.append(MARKUP.sub("", line))
        elif not line:
            if text := " ".join(filter(None, texts)):
                yield start, _Turn(speaker, time, text)
            time, texts = "", []


def guess_subtitles(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise WebVTT by its first line, and SubRip by a number above a time."""
    filled = [line.strip() for line in lines[:SAMPLE_LINES] if line.strip()]
    is_subrip = len(filled) > 1 and filled[0].isdecimal() and CUE.fullmatch(filled[1]) is not None
    is_vtt = bool(filled) and filled[0].startswith("WEBVTT") and any(map(CUE.fullmatch, filled))
    return Reading(format=SUBTITLES.name) if is_subrip or is_vtt else None


SUBTITLES = Format(
    "subtitles", phrase("Subtitles"), (".vtt", ".srt"), open_subtitles, guess_subtitles
)
