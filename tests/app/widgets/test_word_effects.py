"""Words with their effects: picked by mouse and arrow keys."""

from PySide6.QtCore import Qt

from app.widgets.text.word_effects import WordRow, tint_effects
from engine.messages.explore.attribution import WordEffect

EFFECTS = tint_effects(
    [
        WordEffect(text=text, segment=0, start=2 * n, end=2 * n + 1, effect=n - 1.0)
        for n, text in enumerate("abc")
    ]
)


def test_a_word_is_picked_by_mouse_and_keys(qtbot):
    words, picked = WordRow("Words", selectable=True), list[int]()
    qtbot.addWidget(words)
    words.word_picked.connect(picked.append)
    words.word_picked.connect(lambda number: words.show_words(EFFECTS, number))
    words.show_words(EFFECTS)
    words.resize(400, 60)
    words.show()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right):
        qtbot.keyClick(words, key)
    qtbot.keyClick(words, Qt.Key.Key_Left)
    assert picked == [0, 1, 2, 2, 1]
    words.setFocus()
    words.grab()
    qtbot.mouseClick(words, Qt.MouseButton.LeftButton, pos=words._boxes[2].center().toPoint())
    assert picked[-1] == 2
    words = WordRow("Words")
    qtbot.addWidget(words)
    assert words.focusPolicy() == Qt.FocusPolicy.NoFocus
