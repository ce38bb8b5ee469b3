import pytest
from PySide6.QtGui import QImage

from app.widgets.charts.figure import Table, image, svg
from app.widgets.charts.table_figure import ROW, table_figure
from app.widgets.tables import Column, ColumnsModel


@pytest.mark.usefixtures("qapp")
def test_a_table_is_drawn_with_headings_in_its_sort_order():
    columns: list[Column[tuple[str, int]]] = [
        Column("Label", lambda row: row[0]),
        Column("Support", lambda row: str(row[1]), align_right=True, sort_key=lambda row: row[1]),
    ]
    model = ColumnsModel(columns)
    model.show_rows([("much", 30), ("little", 3)])
    model.sort(1)
    figure = table_figure(model, "labels", "Labels", "Both.", lambda: Table(("a",), [(1,)]))
    assert figure.size.height() == 3 * ROW
    text = svg(figure).decode()
    assert [text.index(f">{word}<") for word in ("Label", "little", "much")] == sorted(
        text.index(f">{word}<") for word in ("Label", "little", "much")
    )
    assert isinstance(image(figure), QImage)
    assert figure.table is not None
    assert figure.table().rows == [(1,)]
