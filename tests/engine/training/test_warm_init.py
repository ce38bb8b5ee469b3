"""Warm initialisation: word vectors from counts, heads that attend to neighbours."""

import numpy as np
import pytest
import torch

from engine.data.tokenized.dataset import TokenizedDataset, tokenize_stream
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tasks.learner import special_ids
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train
from engine.training.warm_init import LOWER_OFFSETS, warm_init, word_vectors
from tests.engine.models.small import sized
from tests.engine.training.small import new_run, pretraining

DRINKS, TOOLS = ["tea", "milk", "juice"], ["hammer", "saw", "drill"]
VERBS = {"drinks": DRINKS, "takes": TOOLS}


def silent(done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = ["she", "he", "now", "then", "unseen", *VERBS, *DRINKS, *TOOLS]
    path.write_text("\n".join(specials + words) + "\n", encoding="utf-8")
    return Tokenizer.from_vocabulary(path, lowercase=True)


@pytest.fixture(scope="module")
def text(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TokenizedDataset:
    """Sentences in which someone drinks a drink or takes a tool."""
    rng = np.random.default_rng(3)
    sentences = []
    for _ in range(400):
        verb = rng.choice(list(VERBS))
        words = [rng.choice(["she", "he"]), verb, rng.choice(VERBS[verb])]
        sentences.append(" ".join([*words, rng.choice(["now", "then"])]))
    folder = tmp_path_factory.mktemp("text") / "tokenized"
    return tokenize_stream([" ".join(sentences)], tokenizer, 32, folder)


def ids(tokenizer: Tokenizer, words: list[str]) -> list[int]:
    return [tokenizer.contents([word])[0][0] for word in words]


def test_words_with_the_same_neighbours_get_similar_vectors(tokenizer, text):
    vectors = torch.from_numpy(
        word_vectors(text, tokenizer.size, 4, special_ids(tokenizer), silent)
    )
    unit = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-9)
    drinks, tools = unit[ids(tokenizer, DRINKS)], unit[ids(tokenizer, TOOLS)]
    assert float((drinks @ drinks.T).min()) > float((drinks @ tools.T).max()) + 0.3
    assert not vectors[ids(tokenizer, ["unseen"])].any()
    assert not vectors[special_ids(tokenizer)].any()


def test_attention_scores_match_related_vectors(tokenizer, text):
    vectors = word_vectors(text, tokenizer.size, tokenizer.size, special_ids(tokenizer), silent)
    drinks, takes = ids(tokenizer, ["drinks", "takes"])
    tea, saw = ids(tokenizer, ["tea", "saw"])
    assert vectors[drinks] @ vectors[tea] > vectors[takes] @ vectors[tea]
    assert vectors[takes] @ vectors[saw] > vectors[drinks] @ vectors[saw]


def test_heads_of_the_lowest_layer_attend_to_their_neighbour(tokenizer, text):
    spec = sized(
        tokenizer, hidden_size=256, layers=3, heads=4, intermediate_size=64, max_positions=64
    )
    torch.manual_seed(0)
    network = Network(spec, Heads(mlm=True)).eval()
    warm_init(network, text, special_ids(tokenizer), silent)
    tokens = torch.from_numpy(text.ids(0))[None]
    with torch.inference_mode():
        weights = network.encoder(tokens, torch.zeros_like(tokens), keep_weights=True).weights[0][0]
    for head, offset in enumerate(LOWER_OFFSETS[0]):
        means = {o: float(weights[head].diagonal(o).mean()) for o in range(-6, 7)}
        assert max(means, key=lambda o: means[o]) == offset
        assert means[offset] > 0.25


@pytest.mark.parametrize("width, heads, layers", [(4, 4, 1), (12, 3, 2), (64, 2, 5), (16, 1, 1)])
@pytest.mark.parametrize("head", [Heads(mlm=True), Heads(outputs=2)])
def test_every_shape_of_network_stays_finite(tokenizer, text, width, heads, layers, head):
    spec = sized(
        tokenizer,
        hidden_size=width,
        layers=layers,
        heads=heads,
        intermediate_size=8,
        max_positions=32,
    )
    network = Network(spec, head).eval()
    warm_init(network, text, special_ids(tokenizer), silent)
    tokens = torch.from_numpy(text.ids(0))[None]
    with torch.inference_mode():
        assert network.encoder(tokens, torch.zeros_like(tokens)).last.isfinite().all()


def test_a_text_of_one_word_is_accepted(tokenizer, tmp_path):
    single = tokenize_stream(["tea"], tokenizer, 8, tmp_path / "tokenized")
    vectors = word_vectors(single, tokenizer.size, 4, special_ids(tokenizer), silent)
    assert not vectors.any()
    spec = sized(tokenizer, hidden_size=8, layers=1, heads=2, intermediate_size=8, max_positions=8)
    network = Network(spec, Heads(mlm=True))
    warm_init(network, single, special_ids(tokenizer), silent)
    assert all(parameter.isfinite().all() for parameter in network.parameters())


def test_warm_init_lowers_the_first_losses_and_is_reproducible(tmp_path):
    def first_losses(name: str, is_warm: bool) -> list[float]:
        job = pretraining(tmp_path, steps=4, learning_rate=1e-9)
        job = job.model_copy(
            update={"base_model": job.base_model.model_copy(update={"warm_init": is_warm})}
        )
        events = []
        train(job, new_run(tmp_path / name, job), events.append)
        return [e.value for e in events if getattr(e, "name", "") == "loss"]

    random, warm = first_losses("random", False), first_losses("warm", True)
    assert len(warm) == 4
    assert np.mean(warm) < np.mean(random)
    assert first_losses("again", True) == warm
