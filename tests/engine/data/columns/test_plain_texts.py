"""When two texts are equal."""

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from engine.data.columns.plain_texts import plain_cells, plain_text
from tests.often import tries

texts = st.lists(st.text(st.sampled_from("aB \t\n\0\x1céßẞ\u00a0ﬁ"), max_size=6), max_size=8)


@given(texts)
@example(["a b", " A ", "", "c\0d"])
@example([])
@tries(300)
def test_many_texts_become_what_each_becomes(some: list[str]) -> None:
    cells = pa.array(["before", *some, "behind"], type=pa.string()).slice(1, len(some))
    assert plain_cells(cells) == [plain_text(text) for text in some]
