from app.pages.train.preview import EXAMPLE_COUNT, read_preview
from engine.config.dataset import Mapping, Reading, Split, StoredData
from engine.config.tasks.pair_classification import PairClassification
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.config.tasks.token_classification import TokenClassification
from engine.data.columns.tags import Span
from engine.data.datasets.importing import import_dataset
from engine.tokenizers.tokenizer import Tokenizer
from tests.app.pages.train.conftest import make_text


def test_examples_are_tokens_and_pretraining_shows_masks(sentences, model):
    result = read_preview(StoredData(folder=sentences), model, TextClassification())
    assert len(result.examples) == EXAMPLE_COUNT
    for example in result.examples:
        assert [example.tokens[0].text, example.tokens[-1].text] == ["[CLS]", "[SEP]"]
        assert example.label in ("good", "bad", "dull")
    assert result.unknown == Tokenizer.from_folder(model).unknown
    for example in read_preview(
        StoredData(folder=sentences), model, Pretraining(mlm_probability=0.5)
    ).examples:
        assert "[MASK]" in [token.text for token in example.tokens]
        assert example.label is None


def test_a_pair_has_two_segments(pairs, model):
    tokens = read_preview(StoredData(folder=pairs), model, PairClassification()).examples[0].tokens
    assert {token.segment for token in tokens} == {0, 1}


def test_without_a_vocabulary_plain_text_is_shown(sentences):
    result = read_preview(StoredData(folder=sentences), None, TextClassification())
    assert result.lengths is None
    assert all(example.tokens == () for example in result.examples)
    assert result.examples[0].text in [make_text(row) for row in range(60)]


def test_lengths_include_both_special_tokens_of_real_rows(make_data, model):
    folder = make_data("many", rows=700)
    lengths = read_preview(StoredData(folder=folder), model, TextClassification()).lengths
    assert len(lengths.sample) >= 500
    tokenizer = Tokenizer.from_folder(model)
    possible = {len(tokenizer.encode(make_text(row)).ids) for row in range(700)}
    assert set(lengths.sample) <= possible
    assert list(lengths.sample) == sorted(lengths.sample)


def test_rows_without_a_label_are_not_among_the_examples(make_data, model):
    data = StoredData(folder=make_data("part", unlabelled=58))
    examples = read_preview(data, model, TextClassification()).examples
    assert len(examples) <= 2 and all(example.label for example in examples)
    assert len(read_preview(data, model, Pretraining()).examples) == EXAMPLE_COUNT


def test_tokens_of_tagged_words_have_spans(home, tmp_path, model):
    file, folder = tmp_path / "names.tsv", home.datasets / "names" / "1"
    lines = "".join("a very film was\tB-a I-a O B-b\n" for _ in range(40))
    file.write_text("words\ttags\n" + lines)
    mapping, reading = Mapping(text="words", tags="tags"), Reading(format="tsv", delimiter="\t")
    import_dataset("names", {"all": file}, reading, mapping, Split(validation=0.2), folder)
    data = StoredData(folder=folder)
    result = read_preview(data, model, TokenClassification())
    assert result.types == ("a", "b")
    for example in result.examples:
        words = [token.word for token in example.tokens]
        last = len(words) - 1  # [SEP]
        assert example.spans == (Span("a", 1, words.index(2)), Span("b", words.index(3), last))
    assert not any(example.spans for example in read_preview(data, model, Pretraining()).examples)
