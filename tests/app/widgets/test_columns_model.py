from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont
from pytestqt.modeltest import ModelTester

from app.widgets.tables import AT_LEFT, AT_RIGHT, Column, ColumnsModel

Role = Qt.ItemDataRole
Item = tuple[str, float | None]
ITEMS: Sequence[Item] = [("b", 2.0), ("a", None), ("c", 1.0), ("d", 2.0)]
RED = QColor("red")
MARK = int(Role.UserRole) + 1


def columns() -> list[Column[Item]]:
    bold = QFont()
    bold.setBold(True)
    return [
        Column("Name", lambda item: item[0], tooltip=lambda item: f"<{item[0]}>", font=bold),
        Column(
            "Score",
            lambda item: "" if item[1] is None else f"{item[1]:.1f}",
            value=lambda item: item[1],
            color=lambda item: RED if item[1] is None else None,
            align_right=True,
            meaning="Mean score",
            sort_key=lambda item: item[1],
            descending_first=True,
            roles={MARK: lambda item: item[0] * 2},
        ),
    ]


@pytest.fixture
def model() -> ColumnsModel[Item]:
    model = ColumnsModel(columns())
    model.show_rows(ITEMS)
    return model


def names(model: ColumnsModel[Item]) -> str:
    return "".join(str(model.index(row, 0).data()) for row in range(model.rowCount()))


def test_cells_and_headings_have_the_roles_of_their_column(model):
    name, score, unknown = model.index(0, 0), model.index(0, 1), model.index(1, 1)
    assert (name.data(), name.data(Role.EditRole)) == ("b", "b")
    assert (score.data(), score.data(Role.EditRole)) == ("2.0", 2.0)
    assert "&lt;b&gt;" in name.data(Role.ToolTipRole)
    assert name.data(Role.FontRole).bold()
    assert (name.data(Role.TextAlignmentRole), score.data(Role.TextAlignmentRole)) == (
        AT_LEFT,
        AT_RIGHT,
    )
    assert unknown.data(Role.ForegroundRole) == RED
    assert score.data(Role.ForegroundRole) is None
    assert score.data(MARK) == "bb"
    horizontal = Qt.Orientation.Horizontal
    assert model.headerData(1, horizontal) == "Score"
    assert "Mean score" in model.headerData(1, horizontal, Role.ToolTipRole)
    descending = Qt.SortOrder.DescendingOrder.value
    assert model.headerData(1, horizontal, Role.InitialSortOrderRole) == descending
    assert model.headerData(2, horizontal) is None
    assert model.headerData(1, Qt.Orientation.Vertical) == "2"
    titled = ColumnsModel(columns(), row_title=lambda position: f"#{position}")
    titled.show_rows(ITEMS)
    assert titled.headerData(1, Qt.Orientation.Vertical) == "#1"


def test_sorting_is_stable_with_unknown_last_and_keeps_selection(model):
    current = QPersistentModelIndex(model.index(2, 0))
    model.sort(1)
    assert names(model) == "cbda"
    assert current.row() == 0
    model.sort(1, Qt.SortOrder.DescendingOrder)
    assert names(model) == "bdca"
    assert (current.row(), model.row(2)) == (2, ("c", 1.0))
    model.sort(0)  # without a sort key: the given order
    assert names(model) == "bacd"


def test_updated_rows_keep_the_selection_and_new_ones_the_order(model):
    model.sort(1)
    current = QPersistentModelIndex(model.index(0, 0))
    model.update_rows([("b", 2.0), ("a", 0.0), ("c", 9.0), ("d", 2.0)])
    assert names(model) == "abdc"
    assert current.row() == 3
    model.update_rows([("x", 2.0), ("y", 1.0)])
    assert names(model) == "yx"
    model.show_rows([("z", 1.0)], columns()[:1])
    assert (names(model), model.columnCount()) == ("z", 1)


def test_the_model_passes_the_model_tester(model, qtbot):
    tester = ModelTester(None)
    tester.check(model)
    model.sort(1)
    model.update_rows(ITEMS)
    model.show_rows(())
    tester._cleanup()
