"""The question for the correct label of rows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from app.results.corrections import Record, StoredRows
from app.theme import SPACE, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, confirm
from app.widgets.forms.answer_editor import AnswerEditor
from app.widgets.forms.controls import ComboBox
from app.widgets.forms.label_keys import LabelKeys, assign_keys, code_role
from app.widgets.forms.span_view import SpanView
from app.widgets.forms.tag_view import TagView
from app.widgets.page import scrolling
from app.widgets.screen import set_shown
from app.widgets.text.labels import one_line
from engine.config.codebook import Code
from engine.data.columns.answers import Answer
from engine.data.columns.text_spans import (
    TextSpan,
    format_spans,
    read_spans,
    sorted_spans,
    spans_of_tags,
    valid_spans,
)
from engine.data.columns.words import join_words, split_words
from engine.data.datasets.editing import with_tag
from engine.results.answers import best_answers
from engine.results.predictions import Predictions
from engine.results.row_figures import details
from engine.results.spans import labels_spans

MAX_LIST_HEIGHT = 280  # px
WORDS_HEIGHT, SPANS_HEIGHT = 104, 168  # px


class LabelEditor(NamedTuple):
    """A widget for the label of rows, and a function that returns their new cells; {} for none."""

    widget: QWidget
    cells: Callable[[], Record]


def ask_for_label(
    owner: QWidget,
    stored: StoredRows,
    records: Sequence[Record],
    predictions: Predictions,
    row: int,
    correct: Callable[[Record], object],
) -> None:
    """Ask for the label of some rows, and pass their new cells to `correct`.

    The predicted label of `row` is proposed. Raises StudioError if the label of the row
    cannot be read.

    Args:
        records: the current cells of the rows; one if labels are parts of their row.
    """
    editor = _make_editor(stored, records[0], predictions, row)
    count = len(records)
    template = tr("The label of %Ln row(s) changes in version {0} of “{1}”, as an edit.", count)
    text = template.format(stored.folder.name, stored.spec.name)

    def answered() -> None:
        cells = editor.cells()
        if any(record | cells != record for record in records):
            correct(cells)

    choice = Choice("correct", tr("Correct"), "primary")
    confirm(owner, tr("Correct label"), text, choice, answered, [editor.widget])
    editor.widget.setFocus()


def _make_editor(
    stored: StoredRows, record: Record, predictions: Predictions, row: int
) -> LabelEditor:
    predicted = predictions.table["predicted"][row].as_py() or ""
    match stored.role:
        case "tags" if stored.spec.has_text_spans:
            detail = None if labels_spans(predictions) else details(predictions)[row]
            return _span_editor(stored, record, predicted, detail)
        case "tags":
            tags = details(predictions)[row].get("predicted") or []
            return _tag_editor(stored, record, [] if labels_spans(predictions) else tags)
        case "answers":
            best = best_answers(predictions, row)
            found = [Answer(best[0].text, best[0].start)] if predicted and best else []
            return _answer_editor(stored, record, found)
        case "endings":
            return _choice_editor(stored, record, predicted)
        case _ if stored.has_sets:
            boxes = _checklist(stored.labels, stored.parse(predicted))
            return LabelEditor(boxes, lambda: stored.cells(_checked(boxes)))
        case _:
            return _text_editor(stored, predicted)


def _text_editor(stored: StoredRows, predicted: str) -> LabelEditor:
    box = ComboBox(tr("Label"))
    box.setEditable(True)
    box.addItems(list(stored.labels))
    box.setCurrentText(predicted)

    def cells() -> Record:
        label = box.currentText().strip()
        return stored.cells([label]) if label else {}

    return LabelEditor(box, cells)


def _tag_editor(stored: StoredRows, record: Record, predicted: Sequence[str]) -> LabelEditor:
    """The words of a row: a key or a button tags the selected ones."""
    mapping = stored.spec.mapping
    assert mapping.tags is not None
    column, words = mapping.tags, split_words(record[mapping.text])
    tags = split_words(record[column]) or ["O"] * len(words)
    editor = QWidget()
    view, keys = TagView(), LabelKeys(editor)
    area = scrolling(view)
    area.setFixedHeight(px(WORDS_HEIGHT))
    use = buttons.quiet(tr("Use &predicted tags"), lambda: show(predicted))
    set_shown(use, len(predicted) == len(words))
    codes = assign_keys([Code(label=label) for label in stored.labels])
    keys.show_labels(codes, stored.labels, tr("outside (O)"))
    keys.watch(view)

    def show(new: Sequence[str]) -> None:
        tags[:] = new
        view.show_row(words, tags, stored.labels)

    def set_tag(name: str) -> None:
        cell = with_tag(tags, *view.selection, name or "O", stored.has_span_tags)
        show(split_words(cell))

    keys.pressed.connect(set_tag)
    show([*tags])
    parts = keys, area, layouts.row(use, layouts.STRETCH)
    layouts.column(*parts, parent=editor, spacing=2 * SPACE)
    editor.setFocusProxy(view)
    return LabelEditor(editor, lambda: {column: join_words(tags)})


def _span_editor(
    stored: StoredRows, record: Record, cell: str, detail: dict[str, list[str]] | None
) -> LabelEditor:
    """The text of a row: a key or a button labels the selected words.

    Predictions are spans in a `cell`, or tags of words in `detail`.
    """
    mapping = stored.spec.mapping
    assert mapping.tags is not None
    text, column, editor = record[mapping.text], mapping.tags, QWidget()
    view, keys = SpanView(), LabelKeys(editor)
    area = scrolling(view)
    area.setFixedHeight(px(SPANS_HEIGHT))
    codes = stored.spec.codebooks[column].active
    roles = {code.label: code_role(code, place) for place, code in enumerate(codes)}
    keys.show_labels(assign_keys(codes), [code.label for code in codes], tr("no span"))
    keys.watch(view)

    def show(spans: Sequence[TextSpan]) -> None:
        view.show_text(text, sorted_spans(spans), roles)

    def set_label(label: str) -> None:
        spans, new = view.labelled(label)
        show(spans)
        view.choose(new)

    predicted = valid_spans(text, read_spans(cell) or [], [])
    if detail is not None:
        words, tags = (detail.get(name) or [] for name in ("words", "predicted"))
        try:
            predicted = spans_of_tags(text, words, tags)
        except ValueError:  # the text was edited
            predicted = []
    use = buttons.quiet(tr("Use &predicted tags"), lambda: show(predicted))
    set_shown(use, bool(predicted))
    keys.pressed.connect(set_label)
    show(read_spans(record[column]) or [])
    layouts.column(keys, area, layouts.row(use, layouts.STRETCH), parent=editor, spacing=2 * SPACE)
    editor.setFocusProxy(view)
    return LabelEditor(editor, lambda: {column: format_spans(view.spans)})


def _answer_editor(stored: StoredRows, record: Record, predicted: Sequence[Answer]) -> LabelEditor:
    """The passage of a row: its selected words become the answer."""
    mapping, editor = stored.spec.mapping, AnswerEditor()
    assert mapping.answers is not None and mapping.pair is not None
    column, passage = mapping.answers, record[mapping.pair]
    editor.show_row(record[mapping.text], passage, record[column])
    for answer in predicted:  # selected: Enter makes it the answer
        if passage[answer.start :].startswith(answer.text):
            editor.select(answer.start, answer.start + len(answer.text))
    return LabelEditor(editor, lambda: {column: editor.cell})


def _choice_editor(stored: StoredRows, record: Record, predicted: str) -> LabelEditor:
    """The choices of a row, the predicted one selected."""
    endings, choices = stored.endings(record), QListWidget()
    choices.setAccessibleName(tr("Choices"))
    choices.setMaximumHeight(px(MAX_LIST_HEIGHT))
    choices.setWordWrap(True)
    choices.addItems([one_line(ending, 300) for ending in endings])
    choices.setCurrentRow(int(predicted) if predicted.isdecimal() else 0)
    return LabelEditor(choices, lambda: stored.choice_cells(choices.currentRow(), endings))


def _checklist(labels: Sequence[str], chosen: Sequence[str]) -> QListWidget:
    boxes = QListWidget()
    boxes.setAccessibleName(tr("Labels"))
    boxes.setMaximumHeight(px(MAX_LIST_HEIGHT))
    for label in labels:
        item = QListWidgetItem(one_line(label), boxes)
        item.setData(Qt.ItemDataRole.UserRole, label)
        state = Qt.CheckState.Checked if label in chosen else Qt.CheckState.Unchecked
        item.setCheckState(state)
    return boxes


def _checked(boxes: QListWidget) -> list[str]:
    items = [boxes.item(row) for row in range(boxes.count())]
    checked = [item for item in items if item.checkState() == Qt.CheckState.Checked]
    return [str(item.data(Qt.ItemDataRole.UserRole)) for item in checked]
