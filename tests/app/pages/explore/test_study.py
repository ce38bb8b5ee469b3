"""The text, its tokens and its masks."""

import pytest

from app.library import describe_model
from app.pages.explore.side import MAX_CHARACTERS, shifted
from app.pages.explore.study import Study
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import make_model


def texts(study: Study) -> list[str]:
    return [token.text for token in study.tokens]


@pytest.mark.parametrize(
    "old, new, stays",
    [
        ("the cat sat", "the cat sat.", {(4, 7)}),  # after it
        ("the cat sat", "look, the cat sat", {(10, 13)}),  # before it
        ("the cat sat", "a cat sat", {(2, 5)}),
        ("the cat sat", "the cut sat", set()),  # in it
        ("the cat sat", "the cats sat", set()),  # it grew
        ("the cat sat", "the bobcat sat", set()),
        ("the cat sat", "", set()),
        ("the cat sat", "the cat sat", {(4, 7)}),
        ("cat cat cat", "cat cat", {(4, 7)}),  # of equal ones the last went
        ("😀 cat", "😀 😀 cat", {(4, 7)}),
    ],
)
def test_a_mask_stays_with_its_word_while_the_text_around_it_changes(old, new, stays):
    start = old.index("cat", 4) if old.startswith("cat") else old.index("cat")
    assert shifted({(start, start + 3)}, old, new) == stays


def test_the_text_becomes_tokens_and_then_settles(study, qtbot):
    assert texts(study) == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    with qtbot.waitSignals([study.tokens_changed, study.settled], order="strict"):
        study.set_texts("the dog")
    assert texts(study) == ["[CLS]", "the", "dog", "[SEP]"]


def test_typing_settles_once_after_the_last_key(study, qtbot, wait):
    settled = []
    study.settled.connect(lambda: settled.append(study.text))
    for end in range(1, 12):
        study.set_texts("the dog sat"[:end])
    wait(lambda: study.is_settled)
    assert settled == ["the dog sat"]


def test_a_mask_takes_the_whole_word_and_again_gives_it_back(study, wait):
    study.set_texts("the unhappys cat")
    wait(lambda: study.is_settled)
    assert texts(study) == ["[CLS]", "the", "un", "##happy", "##s", "cat", "[SEP]"]
    study.toggle_mask(3)
    assert study.masked == (2, 3, 4)
    study.toggle_mask(1)
    assert study.masked == (1, 2, 3, 4)
    study.toggle_mask(2)
    assert study.masked == (1,)
    study.unmask_all()
    assert study.masked == ()


def test_a_piece_can_be_hidden_alone(study, wait):
    study.set_texts("unhappy cats")
    wait(lambda: study.is_settled)
    assert [token.text for token in study.tokens[1:5]] == ["un", "##happy", "cat", "##s"]
    study.toggle_mask(2, alone=True)
    assert study.masked == (2,)
    study.toggle_mask(1)  # the other piece: now the whole word
    assert study.masked == (1, 2)
    study.toggle_mask(2, alone=True)  # what hides the piece is the word, which is shown again
    assert study.masked == ()


def test_a_mask_settles_at_once(study, qtbot):
    with qtbot.waitSignal(study.settled, timeout=0):
        study.toggle_mask(2)


@pytest.mark.parametrize("number", [0, 4, -1, 99])
def test_special_tokens_are_not_masked(study, number):
    study.toggle_mask(number)
    assert study.masked == ()


def test_a_typed_mask_stays(study, wait):
    study.set_texts("the [MASK] sat")
    wait(lambda: study.is_settled)
    study.toggle_mask(2)
    assert study.is_typed_mask(2)
    assert study.masked == ()


def test_a_masked_word_that_grows_is_another_word(study, wait):
    study.set_texts("the cat")
    wait(lambda: study.is_settled)
    study.toggle_mask(2)
    study.set_texts("the cats")
    wait(lambda: study.is_settled)
    assert study.masked == ()


def test_masks_of_both_texts_are_kept_apart(study, wait):
    study.set_texts("the cat", "the cat")
    wait(lambda: study.is_settled)
    assert texts(study) == ["[CLS]", "the", "cat", "[SEP]", "the", "cat", "[SEP]"]
    study.toggle_mask(5)
    study.set_texts("a dog", "the cat")
    wait(lambda: study.is_settled)
    assert study.masked == (5,)
    assert study.typed(5) == "cat"


def test_without_marked_pieces_a_mask_takes_one_token(study, home, wait):
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "C", "O", "(", "=", ")")
    model = make_model(home.models / "reactions", Heads(mlm=True), words)
    study.choose_model(describe_model("reactions", model, "imported"))
    study.set_texts("CC(=O)O")
    wait(lambda: study.is_settled and len(study.tokens) == 9)
    study.toggle_mask(2)
    assert study.masked == (2,)


def test_another_model_sees_other_tokens(study, home, wait):
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "c", "##at", "sat")
    model = make_model(home.models / "other", Heads(mlm=True), words)
    study.toggle_mask(2)
    study.choose_model(describe_model("other", model, "imported"))
    assert study.tokens == ()
    wait(lambda: study.is_settled)
    assert texts(study) == ["[CLS]", "the", "c", "##at", "sat", "[SEP]"]
    assert study.masked == (2, 3)


def test_a_folder_without_a_vocabulary_is_told_in_words(study, home, wait):
    told = []
    study.problem_changed.connect(told.append)
    (home.models / "other").mkdir()
    study.choose_model(describe_model("other", home.models / "other", "imported"))
    wait(lambda: told)
    assert told[0].endswith(".")


def test_a_text_that_no_encoding_holds_is_made_whole(study, wait):
    study.set_texts("the \ud83d cat")
    wait(lambda: study.is_settled)
    assert study.text == "the \N{REPLACEMENT CHARACTER} cat"


def test_a_hundred_thousand_characters_are_cut(study, wait):
    study.set_texts("a " * 50_000)
    wait(lambda: study.is_settled)
    assert len(study.text) == MAX_CHARACTERS
    assert study.cut
    assert len(study.tokens) == 32


@pytest.mark.parametrize("text", ["a the cat sat", "the dog cat sat", "the cat sat on the mat"])
def test_what_is_picked_stays_with_its_word_while_the_text_is_edited(study, wait, text):
    study.pick(2)
    study.pick_target(4)
    study.set_texts(text)
    wait(lambda: study.is_settled and study.text == text)
    assert study.tokens[study.picked].text == "cat"
    assert study.target == len(study.tokens) - 1, "[SEP] is still the last"


def test_a_picked_word_that_is_typed_over_is_picked_no_more(study, wait):
    study.pick(2)
    study.pick_target(3)
    study.set_texts("the mat sat")
    wait(lambda: study.is_settled and study.text == "the mat sat")
    assert (study.picked, study.target) == (-1, 3)


def test_what_is_picked_in_the_second_text_stays_there(study, wait):
    study.set_texts("the cat", "the cat")
    wait(lambda: study.is_settled)
    study.pick(5)
    study.pick_target(6)
    study.set_texts("a dog sat", "on the cat")
    wait(lambda: study.is_settled and study.text == "a dog sat")
    token = study.tokens[study.picked]
    assert (token.text, token.segment) == ("cat", 1)
    assert study.target == len(study.tokens) - 1
    study.set_texts("a dog sat")
    wait(lambda: study.is_settled and study.pair is None)
    assert (study.picked, study.target) == (-1, -1)
