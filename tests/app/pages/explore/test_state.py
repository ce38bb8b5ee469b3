"""The text, its tokens and its masks."""

from app.library import describe_model
from app.pages.explore.model_input import MAX_CHARACTERS, shift_spans
from app.pages.explore.state import ExploreState
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import make_model


def texts(explore: ExploreState) -> list[str]:
    return [token.text for token in explore.first.tokens]


def test_a_mask_stays_with_its_word_while_the_text_around_it_changes():
    for old, new, expected in (
        ("the cat sat", "the cat sat.", {(4, 7)}),  # after it
        ("the cat sat", "look, the cat sat", {(10, 13)}),  # before it
        ("the cat sat", "a cat sat", {(2, 5)}),
        ("the cat sat", "the cut sat", set()),  # in it
        ("the cat sat", "the cats sat", set()),  # it grew
        ("the cat sat", "the bobcat sat", set()),
        ("the cat sat", "", set()),
        ("the cat sat", "the cat sat", {(4, 7)}),
        ("cat cat cat", "cat cat", {(4, 7)}),  # the last of equal words is removed
        ("😀 cat", "😀 😀 cat", {(4, 7)}),
    ):
        start = old.index("cat", 4) if old.startswith("cat") else old.index("cat")
        assert shift_spans({(start, start + 3)}, old, new) == expected, new


def test_the_text_becomes_tokens_and_settles_once_after_the_last_key(explore, qtbot, wait):
    assert texts(explore) == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    with qtbot.waitSignals([explore.tokens_changed, explore.settled], order="strict"):
        explore.set_texts("the dog")
    assert texts(explore) == ["[CLS]", "the", "dog", "[SEP]"]
    settled = []
    explore.settled.connect(lambda: settled.append(explore.first.text))
    for end in range(1, 12):
        explore.set_texts("the dog sat"[:end])
    wait(lambda: explore.is_settled)
    assert settled == ["the dog sat"]


def test_a_mask_covers_a_whole_word_or_a_single_piece(explore, qtbot, wait):
    with qtbot.waitSignal(explore.settled, timeout=0):  # immediately
        explore.toggle_mask(2)
    explore.set_texts("the unhappys cat")
    wait(lambda: explore.is_settled)
    assert texts(explore) == ["[CLS]", "the", "un", "##happy", "##s", "cat", "[SEP]"]
    explore.toggle_mask(3)
    assert explore.first.masked == (2, 3, 4)
    explore.toggle_mask(1)
    assert explore.first.masked == (1, 2, 3, 4)
    explore.toggle_mask(2)
    assert explore.first.masked == (1,)
    explore.unmask_all()
    assert explore.first.masked == ()
    explore.set_texts("unhappy cats")
    wait(lambda: explore.is_settled)
    assert [token.text for token in explore.first.tokens[1:5]] == ["un", "##happy", "cat", "##s"]
    explore.toggle_mask(2, only_token=True)
    assert explore.first.masked == (2,)
    explore.toggle_mask(1)  # the other piece: now the whole word
    assert explore.first.masked == (1, 2)
    explore.toggle_mask(2, only_token=True)  # the whole word is unmasked
    assert explore.first.masked == ()


def test_special_tokens_are_not_masked_and_a_typed_mask_stays(explore, wait):
    for number in (0, 4, -1, 99):
        explore.toggle_mask(number)
        assert explore.first.masked == ()
    explore.set_texts("the [MASK] sat")
    wait(lambda: explore.is_settled)
    explore.toggle_mask(2)
    assert explore.first.is_typed_mask(2)
    assert explore.first.masked == ()


def test_masks_of_both_texts_are_separate(explore, wait):
    explore.toggle_mask(2)
    explore.set_texts("the cats")
    wait(lambda: explore.is_settled)
    assert explore.first.masked == (), "a word that grows is another word"
    explore.set_texts("the cat", "the cat")
    wait(lambda: explore.is_settled)
    assert texts(explore) == ["[CLS]", "the", "cat", "[SEP]", "the", "cat", "[SEP]"]
    explore.toggle_mask(5)
    explore.set_texts("a dog", "the cat")
    wait(lambda: explore.is_settled)
    assert explore.first.masked == (5,)
    assert explore.first.source_text(5) == "cat"


def test_without_continuation_marks_a_mask_covers_one_token(explore, home, wait):
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "C", "O", "(", "=", ")")
    model = make_model(home.models / "reactions", Heads(mlm=True), words)
    explore.choose_model(describe_model("reactions", model, "imported"))
    explore.set_texts("CC(=O)O")
    wait(lambda: explore.is_settled and len(explore.first.tokens) == 9)
    explore.toggle_mask(2)
    assert explore.first.masked == (2,)


def test_another_model_has_other_tokens_and_a_missing_vocabulary_is_reported(explore, home, wait):
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "c", "##at", "sat")
    model = make_model(home.models / "other", Heads(mlm=True), words)
    explore.toggle_mask(2)
    explore.choose_model(describe_model("other", model, "imported"))
    assert explore.first.tokens == ()
    wait(lambda: explore.is_settled)
    assert texts(explore) == ["[CLS]", "the", "c", "##at", "sat", "[SEP]"]
    assert explore.first.masked == (2, 3)
    problems = []
    explore.problem_changed.connect(problems.append)
    (home.models / "bare").mkdir()
    explore.choose_model(describe_model("bare", home.models / "bare", "imported"))
    wait(lambda: problems)
    assert problems[0].endswith(".")


def test_lone_surrogates_are_replaced_and_long_texts_truncated(explore, wait):
    explore.set_texts("the \ud83d cat")
    wait(lambda: explore.is_settled)
    assert explore.first.text == "the \N{REPLACEMENT CHARACTER} cat"
    explore.set_texts("a " * 50_000)
    wait(lambda: explore.is_settled)
    assert len(explore.first.text) == MAX_CHARACTERS
    assert explore.first.is_truncated
    assert len(explore.first.tokens) == 32


def test_the_selection_stays_with_its_word_while_the_text_is_edited(explore, wait):
    explore.pick(2)
    explore.pick_target(4)
    for text in ("a the cat sat", "a the dog cat sat", "a the dog cat sat on the mat"):
        explore.set_texts(text)
        wait(lambda text=text: explore.is_settled and explore.first.text == text)
        assert explore.first.tokens[explore.picked].text == "cat"
        assert explore.target == len(explore.first.tokens) - 1, "[SEP] is still the last"
    explore.pick_target(5)
    explore.set_texts("a the dog mat sat on the mat")
    wait(lambda: explore.is_settled and "mat sat" in explore.first.text)
    assert (explore.picked, explore.target) == (-1, 5), "the word was overwritten"
    explore.set_texts("the cat", "the cat")
    wait(lambda: explore.is_settled)
    explore.pick(5)
    explore.pick_target(6)
    explore.set_texts("a dog sat", "on the cat")
    wait(lambda: explore.is_settled and explore.first.text == "a dog sat")
    token = explore.first.tokens[explore.picked]
    assert (token.text, token.segment) == ("cat", 1)
    assert explore.target == len(explore.first.tokens) - 1
    explore.set_texts("a dog sat")
    wait(lambda: explore.is_settled and explore.first.pair is None)
    assert (explore.picked, explore.target) == (-1, -1)
