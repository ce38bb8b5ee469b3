"""Item models of a model's page: its parts as a tree, its vocabulary as a list."""

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from app.resources import mono_font
from app.translation import translated
from app.widgets.tables import AT_RIGHT, NOWHERE, Column, ColumnsModel, Index
from app.widgets.text import numbers
from app.widgets.text.labels import visible
from engine.checkpoints.outline import Block, parameters
from engine.tokenizers.vocabulary import Vocabulary

FRACTION_ROLE = Qt.ItemDataRole.UserRole  # fraction of all parameters, 0 to 1
MAX_TOKEN_CHARACTERS = 200


@dataclass(eq=False)
class _Node:
    """Tree node that an index points to."""

    block: Block
    row: int
    parent: "_Node | None"
    children: list["_Node"] = field(default_factory=list)


class PartsModel(QAbstractItemModel):
    """Blocks of a network: name, shapes, parameters."""

    def __init__(self, blocks: tuple[Block, ...], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._top = [_make_node(block, row, None) for row, block in enumerate(blocks)]
        self._total = max(parameters(blocks), 1)

    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        children = self._children(parent)
        if 0 <= row < len(children) and 0 <= column < 3:
            return self.createIndex(row, column, children[row])
        return QModelIndex()

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]  # QObject has one too
        node = self._node(index)
        if node is None or node.parent is None:
            return QModelIndex()
        return self.createIndex(node.parent.row, 0, node.parent)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return len(self._children(parent)) if parent.column() <= 0 else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Module"), self.tr("Shape"), self.tr("Parameters"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 2:
            return AT_RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self._node(index)
        if node is None:
            return None
        match role, index.column():
            case Qt.ItemDataRole.DisplayRole, 0:
                return self._name(node.block)
            case Qt.ItemDataRole.DisplayRole, 1:
                return "  +  ".join(_shape(shape) for shape in node.block.shapes)
            case Qt.ItemDataRole.DisplayRole, 2:
                if node.block.tied:
                    return self.tr("shared, counted above")
                return numbers.count(node.block.parameters)
            case Qt.ItemDataRole.TextAlignmentRole, 2:
                return AT_RIGHT
            case Qt.ItemDataRole.FontRole, 1:
                return mono_font()
            case _ if role == FRACTION_ROLE:
                return node.block.parameters / self._total
        return None

    def _name(self, block: Block) -> str:
        name = translated(block.name)
        return f"{name} {block.number}" if block.number else name

    def _children(self, parent: Index) -> list[_Node]:
        node = self._node(parent)
        return self._top if node is None else node.children

    def _node(self, index: Index) -> _Node | None:
        node = index.internalPointer() if index.isValid() else None
        return node if isinstance(node, _Node) else None


def _make_node(block: Block, row: int, parent: _Node | None) -> _Node:
    node = _Node(block, row, parent)
    node.children = [_make_node(inner, row, node) for row, inner in enumerate(block.blocks)]
    return node


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(str(length) for length in shape)


class VocabularyModel(ColumnsModel[int]):
    """Tokens of a vocabulary, or search results, by their ids: id, token, kind."""

    def __init__(self, vocabulary: Vocabulary, parent: QObject | None = None) -> None:
        super().__init__(parent=parent)
        self._vocabulary = vocabulary
        self._special = set(vocabulary.special) | set(vocabulary.added)
        self.columns = (
            Column(self.tr("ID"), str, align_right=True, font=lambda _: mono_font()),
            Column(self.tr("Token"), self._token, font=lambda _: mono_font()),
            Column(self.tr("Kind"), self._kind),
        )
        self.show_only(None)

    def show_only(self, ids: list[int] | None) -> None:
        """Show the tokens with these ids; None shows all."""
        self.show_rows(range(len(self._vocabulary.tokens)) if ids is None else ids)

    def _token(self, token_id: int) -> str:
        form = self._vocabulary.display_form(self._vocabulary.tokens[token_id])
        return visible(form[:MAX_TOKEN_CHARACTERS])

    def _kind(self, token_id: int) -> str:
        token = self._vocabulary.tokens[token_id]
        if token in self._special:
            return self.tr("special")
        if token.startswith("[unused"):
            return self.tr("unused")
        if not self._vocabulary.marked:
            return self.tr("token")
        continues = self._vocabulary.continues(token)
        return self.tr("continues a word") if continues else self.tr("begins a word")


def find_tokens(vocabulary: Vocabulary, query: str) -> list[int]:
    """Ids of tokens that contain `query`; if it is an id, that one first; then prefix matches."""
    query = query.strip()
    if query.isdecimal() and len(query) < 9:
        token_id = int(query)
        first = [token_id] if token_id < len(vocabulary.tokens) else []
    else:
        first = []
    folded, mark = query.casefold(), vocabulary.mark
    forms = [vocabulary.display_form(token).casefold() for token in vocabulary.tokens]
    hits = [n for n, token in enumerate(forms) if folded in token]
    prefix_hits = [n for n in hits if forms[n].removeprefix(mark).startswith(folded)]
    return list(dict.fromkeys(first + prefix_hits + hits))
