"""Dialog that edits a codebook: add, merge, split and remove labels; keys, colours, meanings."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QWidget,
)

from app.pages.data.dataset.editing.codebook_draft import CodebookDraft
from app.pages.data.dataset.editing.codebook_form import CodeForm
from app.theme import SPACE, px
from app.widgets import buttons, dialogs, layouts
from app.widgets.buttons import Segments
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import SpinBox
from app.widgets.forms.label_keys import KeyFilter, KeyIconEngine, assign_keys, code_role
from app.widgets.help import HelpButton
from app.widgets.screen import EDGE, set_shown
from app.widgets.text.labels import Text, one_line, plain_menu_text
from engine.config.codebook import MAX_LABEL, Code, CodingKind
from engine.config.dataset import free_column
from engine.config.levels import Node, ancestors
from engine.config.validation import list_problems
from engine.data.datasets.codebooks import read_codebook, write_codebook
from engine.errors import StudioError
from engine.files.home import folder_name
from engine.files.table_files import TABLE_WRITERS
from engine.phrases import join

KINDS: tuple[CodingKind, ...] = ("label", "labels", "number", "spans")
WIDTH, HEIGHT = 840, 580  # px
LIST_WIDTH = 348
MAX_COLUMN_CHARACTERS = 60
MAX_SCALE = 1_000
MAX_NAMED = 5  # columns
SUFFIXES = [".xlsx", *(suffix for suffix in TABLE_WRITERS if suffix != ".xlsx")]


class CodebookDialog(dialogs.Dialog):
    """Edits a draft; `on_done` gets it with the name of the new column, “” for an old one."""

    def __init__(
        self,
        owner: QWidget,
        draft: CodebookDraft,
        on_done: Callable[[CodebookDraft, str], object],
        columns: Sequence[str] = (),
        replaced: Sequence[str] = (),
    ) -> None:
        """Build the parts.

        Args:
            columns: names that a new column cannot have; empty: the column exists.
            replaced: the label columns so far, which the version keeps.
        """
        self._is_new = bool(columns)
        title = self.tr("Label these texts") if self._is_new else self.tr("Codebook")
        super().__init__(owner.window(), title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.draft, self._on_done, self._columns = draft, on_done, {*columns}
        self._is_showing = False
        names = ", ".join(f"“{one_line(name[:60])}”" for name in replaced[:MAX_NAMED])
        text = self.tr(
            "Training uses the new column in the next version, which also keeps {0}."
        ).format(names)
        self.note = Text(text, "muted")
        set_shown(self.note, bool(replaced))
        self.problem = Text("", "warn")
        self.consequences = Text("", "strong")
        self.accept_button = buttons.primary(
            self.tr("Start &labelling") if self._is_new else self.tr("&Apply"), self._on_accept
        )
        self.accept_button.setDefault(True)
        self.form = CodeForm()
        self.form.edited.connect(self._on_edited)
        upper = layouts.row((self._make_list(), 2), (self.form, 3), spacing=5 * SPACE)
        read = buttons.plain(self.tr("&Import…"), self._on_import)
        write = buttons.plain(self.tr("E&xport…"), self._on_export)
        foot = layouts.row(
            *(read, write, HelpButton("coding"), layouts.STRETCH),
            *(buttons.plain(self.tr("Cancel"), self.reject), self.accept_button),
            spacing=2 * SPACE,
        )
        layouts.column(
            *(Text(title, "heading"), self.note, self._make_head(), (upper, 1)),
            *(self.consequences, self.problem, foot),
            parent=self,
            spacing=3 * SPACE,
            margins=(EDGE, EDGE, EDGE, 5 * SPACE),
        )
        self.resize(px(WIDTH), px(HEIGHT))
        self._show_kind()
        self._show_list(0)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _make_head(self) -> QWidget:
        """The name of a new column and its kind of labels; hidden for an old column."""
        head = QWidget()
        self.column = QLineEdit(free_column(self.tr("label"), self._columns))
        self.column.setMaxLength(MAX_COLUMN_CHARACTERS)
        self.column.setAccessibleName(self.tr("Name of the new column"))
        self.column.textChanged.connect(lambda _: self._show_changes())
        self.kinds = Segments(
            [
                *(self.tr("One label"), self.tr("Several labels")),
                *(self.tr("A number on a scale"), self.tr("Spans of the text")),
            ],
            self.tr("Labels of a row"),
        )
        self.kinds.choose(KINDS.index(self.draft.codebook.kind))
        self.kinds.chosen.connect(lambda _: self._on_kind())
        self.lowest, self.highest = (SpinBox(name) for name in (self.tr("From"), self.tr("To")))
        for box, value in (
            (self.lowest, self.draft.codebook.lowest),
            (self.highest, self.draft.codebook.highest),
        ):
            box.setRange(-MAX_SCALE, MAX_SCALE)
            box.setValue(value)
            box.valueChanged.connect(lambda _: self._on_kind())
        self.scale = QWidget()
        layouts.row(
            *(Text(self.tr("from"), "muted", wraps=False), self.lowest),
            *(Text(self.tr("to"), "muted", wraps=False), self.highest),
            parent=self.scale,
            spacing=2 * SPACE,
        )
        layouts.row(
            *(Text(self.tr("New column"), "muted", wraps=False), self.column, 3 * SPACE),
            *(self.kinds, self.scale, layouts.STRETCH),
            parent=head,
            spacing=2 * SPACE,
        )
        set_shown(head, self._is_new)
        return head

    def _make_list(self) -> QWidget:
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Labels"))
        self.list.setIconSize(QSize(px(22), px(16)))
        self.list.setMinimumWidth(px(LIST_WIDTH))
        self.list.currentRowChanged.connect(lambda _: self._show_code())
        KeyFilter(self.list, self._on_list_key)
        self.new = QLineEdit()
        self.new.setPlaceholderText(self.tr("New labels, separated by commas"))
        self.new.setAccessibleName(self.tr("New labels, separated by commas"))
        KeyFilter(self.new, self._on_new_key)
        self.add = buttons.plain(self.tr("A&dd"), self._on_add, "plus")
        self.adding = QWidget()
        layouts.row((self.new, 1), self.add, parent=self.adding, spacing=2 * SPACE)
        self.merge = buttons.plain(self.tr("&Merge into"))
        self.merging = QMenu(self.merge)
        self.merge.setMenu(self.merging)
        self.merging.aboutToShow.connect(self._fill_merging)
        self.rename = buttons.plain(self.tr("Re&name level"))
        self.nodes = QMenu(self.rename)
        self.rename.setMenu(self.nodes)
        self.nodes.aboutToShow.connect(self._fill_nodes)
        self.split = buttons.plain(self.tr("&Split…"), self._on_split)
        self.remove = buttons.plain(self.tr("Remo&ve"), self._on_remove)
        self.actions_row = QWidget()
        layouts.row(
            *(self.merge, self.split, self.remove, self.rename, layouts.STRETCH),
            parent=self.actions_row,
            spacing=2 * SPACE,
        )
        return layouts.page(self.adding, (self.list, 1), self.actions_row, spacing=2 * SPACE)

    # ── shown ────────────────────────────────────────────────────────────────────────────────

    @property
    def _place(self) -> int:
        return self.list.currentRow()

    def _show_kind(self) -> None:
        is_number = self.draft.codebook.kind == "number"
        self.scale.setVisible(is_number)
        self.adding.setVisible(not is_number)
        self.actions_row.setVisible(not is_number)
        for widget in (self.merge, self.split, self.form.deprecated):  # of labels that rows have
            widget.setVisible(not is_number and not self._is_new)
        self.form.label.setReadOnly(is_number)

    def _show_list(self, place: int) -> None:
        self._is_showing = True
        self.list.clear()
        for index, entry in enumerate(self.draft.entries):
            item = QListWidgetItem(self.list)
            self._show_item(item, index, entry.code)
        self._is_showing = False
        self.list.setCurrentRow(min(place, len(self.draft.entries) - 1))
        self._show_code()
        self._show_changes()

    def _show_item(self, item: QListWidgetItem, place: int, code: Code) -> None:
        rows = self.draft.rows(place)
        text = one_line(code.label)
        if rows:
            text = self.tr("{0}  ({1})").format(text, self.tr("%Ln row(s)", "", rows))
        item.setText(self.tr("{0}, deprecated").format(text) if code.deprecated else text)
        key = next((key for key, own in self._keys().items() if own == code), "")
        item.setIcon(QIcon(KeyIconEngine(key, code_role(code, place))))

    def _keys(self) -> dict[str, Code]:
        """The label of each key as rows will be labelled."""
        codes = [entry.code for entry in self.draft.entries if not entry.code.deprecated]
        return assign_keys(codes, self.draft.codebook.kind == "number")

    def _show_code(self) -> None:
        """Show the current label in the form."""
        if self._is_showing:
            return
        entries, place = self.draft.entries, self._place
        has_code = 0 <= place < len(entries)
        for widget in (self.form, self.merge, self.split, self.remove):
            widget.setEnabled(has_code)
        self.merge.setEnabled(has_code and len(entries) > 1)
        set_shown(self.rename, has_code and len(self._path()) > 1)
        code = entries[place].code if has_code else None
        free = next((key for key, own in self._keys().items() if own == code), "")
        self.form.show_code(code, free)

    def _show_changes(self) -> None:
        """Say what happens to the rows, and why the changes cannot be applied."""
        self.consequences.setText(" ".join(self.draft.consequences()))
        problem = self._problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.accept_button.setEnabled(not problem)

    def _problem(self) -> str:
        name = self.column.text().strip()
        if self._is_new and (not name or name in self._columns or name.startswith("_")):
            return self.tr("Choose another name for the column: this one is taken or empty.")
        try:
            result = self.draft.result()
        except ValidationError as error:
            return join("; ", [problem.text for problem in list_problems(error)])
        if self._is_new and result.kind == "spans" and not result.active:
            return self.tr("Name at least one label.")
        if self._is_new and result.kind != "spans" and len(result.active) < 2:
            return self.tr("Name at least two labels.")
        return ""

    # ── edited ───────────────────────────────────────────────────────────────────────────────

    def _on_kind(self) -> None:
        book = self.draft.codebook
        update = {
            "kind": KINDS[max(self.kinds.choice(), 0)],
            "lowest": self.lowest.value(),
            "highest": max(self.highest.value(), self.lowest.value() + 1),
        }
        self.draft.codebook = book.model_copy(update=update)
        if update["kind"] == "number":
            numbers_ = self.draft.codebook.model_copy(update={"codes": ()}).active
            self.draft.entries = CodebookDraft(
                self.draft.codebook.model_copy(update={"codes": numbers_})
            ).entries
        elif book.kind == "number":
            self.draft.entries = []
        self._show_kind()
        self._show_list(0)

    def _on_edited(self) -> None:
        if self._is_showing or not 0 <= self._place < len(self.draft.entries):
            return
        try:
            self.draft.update(self._place, **self.form.fields())
        except ValidationError as error:  # an empty label while it is typed
            self.problem.setText(join("; ", [p.text for p in list_problems(error)]))
            self.problem.show()
            self.accept_button.setEnabled(False)
            return
        for place, entry in enumerate(self.draft.entries):  # the free keys may change
            self._show_item(self.list.item(place), place, entry.code)
        self._show_changes()

    def _on_add(self) -> None:
        count = len(self.draft.entries)
        self.draft.add(self.new.text().replace("\n", ",").split(","))
        self.new.clear()
        self._show_list(count)
        self.new.setFocus()

    def _on_new_key(self, event: QKeyEvent) -> bool:
        """Enter adds the labels; in an empty field it accepts the dialog."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and self.new.text().strip():
            self._on_add()
            return True
        return False

    def _on_list_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Delete and self.remove.isEnabled():
            self._on_remove()
            return True
        return False

    def _fill_merging(self) -> None:
        self.merging.clear()
        for index, entry in enumerate(self.draft.entries):
            if index != self._place:
                action = self.merging.addAction(one_line(entry.code.label).replace("&", "&&"))
                action.triggered.connect(partial(self._on_merge, index))

    def _path(self) -> Node:
        """The nodes of the current label."""
        return self.draft.hierarchy.paths[self._place]

    def _fill_nodes(self) -> None:
        self.nodes.clear()
        for node in ancestors(self._path()):
            name = self.draft.hierarchy.name(node)
            action = self.nodes.addAction(plain_menu_text(one_line(name)))
            action.triggered.connect(partial(self._on_rename, node))

    def _on_rename(self, node: Node) -> None:
        def named(name: str) -> None:
            try:
                self.draft.rename_node(node, name.strip())
            except ValidationError as error:
                self.problem.setText(join("; ", [p.text for p in list_problems(error)]))
                self.problem.show()
            self._show_list(self._place)

        paths = [path for path in self.draft.hierarchy.paths if path[: len(node)] == node]
        prompt = self.tr("New name in %Ln label(s):", "", len(paths))
        title = self.tr("Rename “{0}”").format(one_line(node[-1][:60]))
        choice = Choice("rename", self.tr("Rename"), "primary")
        dialogs.ask_for_name(self, (title, prompt), node[-1], MAX_LABEL, choice, named)

    def _on_merge(self, into: int) -> None:
        place = self._place
        self.draft.merge(place, into)
        self._show_list(into - (into > place))

    def _on_split(self) -> None:
        place = self._place
        label = self.draft.entries[place].code.label

        def named(text: str) -> None:
            self.draft.split(place, text.split(","))
            self._show_list(place)

        texts = (
            self.tr("Split “{0}”").format(one_line(label[:60])),
            self.tr("Names of the new labels, separated by commas:"),
        )
        choice = Choice("split", self.tr("Split"), "primary")
        dialogs.ask_for_name(self, texts, "", 1_000, choice, named)

    def _on_remove(self) -> None:
        place = self._place
        self.draft.remove(place)
        self._show_list(place)

    # ── files and end ────────────────────────────────────────────────────────────────────────

    def _on_import(self) -> None:
        filters = [self.tr("Tables ({0})").format("*.xlsx *.xls *.ods *.csv *.tsv *.txt *.jsonl")]
        dialogs.choose_file(self, self.tr("Import a codebook"), self.read, filters)

    def read(self, file: Path) -> None:
        """Take over the codebook of a file."""
        try:
            self.draft.read(read_codebook(file, self.draft.codebook))
        except StudioError as error:
            self.problem.setText(error.phrase)
            self.problem.show()
            return
        for box, end in (
            (self.lowest, self.draft.codebook.lowest),
            (self.highest, self.draft.codebook.highest),
        ):
            with QSignalBlocker(box):
                box.setValue(end)
        self._show_list(0)

    def _on_export(self) -> None:
        title, name = self.tr("Export the codebook"), self.tr("codebook")
        dialogs.ask_for_file(self, title, f"{folder_name(name)}.xlsx", SUFFIXES, self.write)

    def write(self, file: Path) -> None:
        """Write the codebook as it is shown."""
        try:
            write_codebook(self.draft.result(), file)
        except StudioError as error:
            self.problem.setText(error.phrase)
            self.problem.show()

    def _on_accept(self) -> None:
        if not self._problem():
            self._on_done(self.draft, self.column.text().strip() if self._is_new else "")
            self.accept()
