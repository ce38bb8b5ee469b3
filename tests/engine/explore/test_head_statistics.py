"""Head statistics compared with transformers in float64, and their invariants."""

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.config.dataset import Mapping, Reading, Split, StoredData
from engine.config.families.bert import BertSpec
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import recognise
from engine.explore import over_texts as work
from engine.explore.attention import weights
from engine.explore.head_statistics import REACH, Words, head_statistics, measure_texts, words_in
from engine.messages.explore.head_measures import KEYS, POSITIONAL, head_figures
from engine.messages.explore.text_set import CountHeads, TextSet, TypedText
from engine.models.checkpoint import Checkpoint, load, write
from engine.models.heads import Heads
from tests.engine.models.small import network, tokenizer

CLOSE = 1e-5
TEXTS = ("A quiet film, a film.", "Nobody laughs?", "We left the film early; it was cold.")


def make_query(texts, checkpoint=Path("any"), **options) -> CountHeads:
    typed = TextSet(typed=tuple(TypedText(text=text) for text in texts))
    return CountHeads(checkpoint=checkpoint, texts=typed, **options)


def count_heads(checkpoint: Checkpoint, question: CountHeads, scratch: Path, emit=lambda _: None):
    """The answer, and its columns by name: float64 [3, L, H] each."""
    answer = head_statistics(checkpoint, question, scratch, emit)
    values = np.load(answer.file)
    return answer, {name: values[..., n] for n, name in enumerate(answer.columns)}


def test_means_over_all_tokens_match_transformers(known, tmp_path):
    answer, result = count_heads(known.checkpoint, make_query(TEXTS), tmp_path)
    sums, queries, offsets = 0.0, 0, []
    for text in TEXTS:
        inputs = known.encode_text(text)
        out = known.run(inputs, output_attentions=True)
        weights = np.stack([layer[0].double().numpy() for layer in out.attentions])
        item = head_figures(weights, inputs.records)
        sums, queries = sums + item.values * item.queries, queries + item.queries
        rows = [n for n, token in enumerate(inputs.records) if not token.special]
        offsets.append(weights[:, :, rows].argmax(-1) - np.array(rows))
    assert answer.tokens == queries and answer.is_final
    for number, key in enumerate(KEYS[:-1]):
        assert result[key][0] == pytest.approx(sums[..., number] / queries, rel=CLOSE, abs=CLOSE), (
            key
        )
    joined = np.concatenate(offsets, -1)
    for head in np.ndindex(*joined.shape[:2]):
        offset = int(result["offset"][0][head])
        assert result["offset_share"][0][head] == pytest.approx(np.mean(joined[head] == offset))
        assert np.bincount(joined[head] + 99).max() == np.sum(joined[head] == offset)
    low, high = result["entropy"][1:]
    assert (low <= result["entropy"][0]).all() and (result["entropy"][0] <= high).all()
    assert (low < high).all()


def test_batching_changes_no_statistic(known, monkeypatch):
    """Texts of several lengths in a padded batch, and each alone."""
    pairs = [(TEXTS[2], None), (TEXTS[0], TEXTS[1]), (TEXTS[1], None), (" ".join(TEXTS), None)]
    together = measure_texts(known.checkpoint, pairs, [], [])
    monkeypatch.setattr(work, "BATCH_TOKENS", 0)
    alone = measure_texts(known.checkpoint, pairs, [], [])
    for a, other in zip(together, alone, strict=True):
        assert a["queries"] == other["queries"]
        assert a["sums"] == pytest.approx(other["sums"], rel=CLOSE, abs=CLOSE)
        assert np.array_equal(a["offsets"], other["offsets"])


def test_a_planted_previous_token_head_scores_highest(tmp_path):
    """Positions are orthogonal, and the query of one head matches the previous position."""
    size, count = 32, 12
    spec = BertSpec(
        vocab_size=40, hidden_size=size, layers=1, heads=2, intermediate_size=8,
        max_positions=count,
    )  # fmt: skip
    model = network(Heads(), spec)
    attention = model.encoder.layers[0].attention
    with torch.no_grad():
        embeddings = model.encoder.embeddings
        embeddings.token.weight.mul_(0.001)
        embeddings.segment.weight.zero_() if hasattr(embeddings, "segment") else None
        embeddings.position.weight.zero_()
        embeddings.position.weight[:, :count] = torch.eye(count)
        for part in (attention.query, attention.key):
            part.bias[:16] = 0
            part.weight[:16] = 0
        attention.key.weight[:count, :count] = 20 * torch.eye(count)
        attention.query.weight[:count, :count] = 20 * torch.eye(count).roll(-1, 0)
    path = tmp_path / "planted"
    path.mkdir()
    write(path, model, tokenizer(path))
    _, result = count_heads(load(path), make_query(("a b c d e", "f g h i")), tmp_path)
    assert result["previous"][0].argmax() == 0 and result["previous"][0][0, 0] > 0.9
    assert result["offset"][0][0, 0] == -1 and result["offset_share"][0][0, 0] >= POSITIONAL
    assert result["previous"][0][0, 1] < 0.5


def test_lift_and_accuracy_match_their_definition(tiny):
    """Two of the words have two tokens."""
    words = ["a", "bc", "d", "ea"]
    tags, heads = ["X", "Y", "X", "Z"], [2, 0, 2, 3]
    rows = Rows(texts=[" ".join(words)], tags=[" ".join(tags)])
    parsed = words_in(rows, [" ".join(map(str, heads))])[0]
    assert parsed == Words([(0, 1), (2, 4), (5, 6), (7, 9)], tags, [1, -1, 1, 2])
    (result,) = measure_texts(tiny, [(rows.texts[0], None)], [parsed], ["X", "Y"])
    tokens, alpha = weights(tiny, rows.texts[0])
    alpha = alpha.astype(np.float64)
    inside = [[n for n, t in enumerate(tokens) if not t.special and a <= t.start < b]
              for a, b in parsed.spans]  # fmt: skip
    queries = [n for n, token in enumerate(tokens) if not token.special]
    x_tokens = inside[0] + inside[2]
    mass = alpha[:, :, queries][..., x_tokens].sum((-1, -2))
    assert result["mass"][..., 0] == pytest.approx(mass, abs=CLOSE)
    assert result["share"][0] == pytest.approx(len(queries) * len(x_tokens) / len(tokens))
    for layer, head in np.ndindex(*alpha.shape[:2]):
        between = np.array([[np.mean([alpha[layer, head, i][to].sum() for i in item])
                             for to in inside] for item in inside])  # fmt: skip
        np.fill_diagonal(between, -1)
        right = [
            sum(between[w].argmax() == parsed.heads[w] for w in (0, 2, 3)),
            sum(between[:, w].argmax() == parsed.heads[w] for w in (0, 2, 3)),
        ]
        assert result["right"][layer, head].tolist() == right
    assert int(result["words"]) == 3
    assert np.flatnonzero(result["fixed"]).tolist() == [9, 11]  # −1 twice, +1 once


@pytest.mark.parametrize("tags", ["upos", None])
def test_a_stored_conllu_file_has_lift_and_accuracy(tiny, tmp_path, tags):
    """Syntactic heads need no column of tags; only the lift needs one."""
    file = tmp_path / "some.conllu"
    row = "{}\t{}\t_\t{}\t_\t_\t{}\tdep\t_\t_"
    sentences = [
        [row.format(1, "a", "DET", 2), row.format(2, "b", "NOUN", 0)],
        [row.format(1, "c", "DET", 2), row.format(2, "d", "NOUN", 0), row.format(3, "e", "X", 2)],
    ]
    file.write_text("\n\n".join("\n".join(item) for item in sentences) + "\n\n", encoding="utf-8")
    folder_ = tmp_path / "data" / "1"
    recognised = recognise(file)
    mapping = Mapping(text="text", tags=tags)
    import_dataset("some", {"all": file}, recognised.reading or Reading(), mapping,
                   Split(validation=0, test=0), folder_)  # fmt: skip
    texts = TextSet(data=StoredData(folder=folder_), part="train")
    question = CountHeads(checkpoint=Path("any"), texts=texts)
    answer, columns = count_heads(tiny, question, tmp_path)
    assert {"head dependent", "head governor"} <= set(columns)
    assert ({"tag DET", "tag NOUN"} <= set(columns)) == (tags is not None)
    assert answer.fixed == (1, pytest.approx(2 / 3))
    assert ((columns["head dependent"][0] >= 0) & (columns["head dependent"][0] <= 1)).all()
    assert REACH >= 8


def test_mismatched_columns_are_ignored():
    rows = Rows(texts=["a b", "c"], tags=["X Y Z", "X"])
    first, second = words_in(rows, ["1", "0"])
    assert (first.tags, first.heads) == ([], [-1, -1])
    assert (second.tags, second.heads) == (["X"], [-1])


def test_heads_without_tags_need_text_split_at_single_spaces():
    single, double = words_in(Rows(texts=["a b", "a  b"]), ["2 0", "2 0"])
    assert (single.spans, single.heads) == ([(0, 1), (2, 3)], [1, -1])
    assert double.heads == [-1, -1]
    assert words_in(Rows(texts=["a b"]), None) == []
