"""Attributions compared with captum on transformers, and their axioms."""

from pathlib import Path

import pytest
import torch
import transformers

from engine.config.features import Features
from engine.errors import StudioError
from engine.explore import attribution
from engine.explore.attention import weights
from engine.explore.attribution import attribute
from engine.explore.prediction import predict
from engine.messages.explore.attribution import Attribute
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import Checkpoint, load
from engine.models.heads import Heads
from engine.serving.network import pack_network
from engine.serving.quantized_matmul import is_available
from engine.tasks.inputs import encode_text
from tests.engine.models.small import folder

CLOSE = 1e-4
TEXT, PAIR = "abc de fgh", "b ca"


def query(text: str = TEXT, **more: object) -> Attribute:
    return Attribute.model_validate({"checkpoint": Path("any"), "text": text} | more)


def full_answer(ours: Checkpoint, question: Attribute):
    """The last answer, which continues all earlier parts."""
    answer = attribute(ours, question)
    while answer.next is not None:
        change = {"start": answer.next, "points": answer.points, "so_far": answer.effects}
        if question.method == "occlusion":
            effects = tuple(word.effect for word in answer.words)
            change = {"start": answer.next, "so_far": effects}
        answer = attribute(ours, question.model_copy(update=change))
    return answer


class Pair:
    """A checkpoint of ours and the same weights in transformers."""

    def __init__(self, path: Path, kind: str, name: str, outputs: int = 3) -> None:
        self.folder = folder(path, Heads(outputs=outputs, kind=kind))
        self.ours = load(self.folder)
        self.theirs = getattr(transformers, name).from_pretrained(self.folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
        self.inputs = tokenizer(TEXT, PAIR, return_tensors="pt")
        self.words = [
            (segment, word) if word is not None else None
            for segment, word in zip(
                self.inputs.sequence_ids(0), self.inputs.word_ids(0), strict=True
            )
        ]
        self.base = self.inputs.input_ids.clone()
        self.base[0, [n for n, word in enumerate(self.words) if word]] = tokenizer.mask_token_id

    def by_word(self, effects: torch.Tensor) -> list[float]:
        """Sums of float [T] over the tokens of each word."""
        order = list(dict.fromkeys(word for word in self.words if word))
        named = list(zip(effects.tolist(), self.words, strict=True))
        return [sum(effect for effect, other in named if other == word) for word in order]


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> Pair:
    path = tmp_path_factory.mktemp("classes") / "model"
    return Pair(path, "pair_classification", "AutoModelForSequenceClassification")


@pytest.fixture(scope="module")
def tags(tmp_path_factory) -> Pair:
    path = tmp_path_factory.mktemp("tags") / "model"
    return Pair(path, "token_classification", "AutoModelForTokenClassification")


def logit(pair: Pair, output: int, against: int | None = None, position: int | None = None):
    """A function of token ids [B, T], as captum expects."""

    def forward(ids: torch.Tensor) -> torch.Tensor:
        rows = {
            name: value.expand(len(ids), -1)
            for name, value in pair.inputs.items()
            if name != "input_ids"
        }
        logits = pair.theirs(input_ids=ids, **rows).logits
        logits = logits if position is None else logits[:, position]
        return logits[:, output] - (0 if against is None else logits[:, against])

    return forward


@pytest.mark.parametrize("contrast", [None, 2])
@pytest.mark.parametrize("kind", ["class", "tag"])
def test_every_method_equals_captum(classes, tags, kind, contrast):
    from captum.attr import FeatureAblation, InputXGradient, LayerIntegratedGradients

    pair, position = (classes, None) if kind == "class" else (tags, 4)
    forward = logit(pair, 1, contrast, position)
    labels = pair.ours.labels
    target = {"label": labels[1], "against": labels[contrast] if contrast else "", "pair": PAIR,
             "position": position}  # fmt: skip
    ids, base = pair.inputs.input_ids, pair.base
    layer = pair.theirs.bert.embeddings.word_embeddings
    assert any(pair.words[n] == pair.words[n + 1] is not None for n in range(len(pair.words) - 1))

    words = sorted({word for word in pair.words if word})
    mask = torch.tensor([[words.index(w) + 1 if w else 0 for w in pair.words]])
    ablated = FeatureAblation(forward).attribute(ids, baselines=base, feature_mask=mask)[0]
    starts = [pair.words.index(word) for word in words]
    result = full_answer(pair.ours, query(**target))
    assert [w.effect for w in result.words] == pytest.approx(ablated[starts].tolist(), abs=CLOSE)

    paths = LayerIntegratedGradients(forward, layer)
    theirs = paths.attribute(ids, base, n_steps=32, method="gausslegendre").sum(-1)[0]
    result = full_answer(pair.ours, query(method="integrated_gradients", **target))
    assert result.points == 32
    assert [w.effect for w in result.words] == pytest.approx(pair.by_word(theirs), abs=CLOSE)
    assert result.effects == pytest.approx(theirs.tolist(), abs=CLOSE)
    with torch.no_grad():
        assert result.explained.score == pytest.approx(float(forward(ids)), abs=CLOSE)
        assert result.baseline_score == pytest.approx(float(forward(base)), abs=CLOSE)

    vectors = layer(ids).detach()

    def forward_vectors(replacement: torch.Tensor) -> torch.Tensor:
        hook = layer.register_forward_hook(lambda *_: replacement)
        try:
            return forward(ids.expand(len(replacement), -1))
        finally:
            hook.remove()

    theirs = InputXGradient(forward_vectors).attribute(vectors.requires_grad_()).sum(-1)[0]
    result = full_answer(pair.ours, query(method="input_x_gradient", **target))
    assert result.effects == pytest.approx(theirs.tolist(), abs=CLOSE)
    assert [w.effect for w in result.words] == pytest.approx(pair.by_word(theirs), abs=CLOSE)


@pytest.mark.parametrize("kind,outputs", [("multi_label", 3), ("regression", 1)])
def test_typed_masks_are_not_words_and_parts_are_joined(tmp_path, monkeypatch, kind, outputs):
    from captum.attr import FeatureAblation

    pair = Pair(tmp_path / "model", kind, "AutoModelForSequenceClassification", outputs)
    text = "abc de [MASK] abcde"
    inputs = transformers.AutoTokenizer.from_pretrained(pair.folder)(text, return_tensors="pt")
    tokens = pair.ours.tokenizer
    groups = dict[int, list[int]]()
    for number, word in enumerate(inputs.word_ids(0)):
        if word is not None and inputs.input_ids[0, number] != tokens.mask:
            groups.setdefault(word, []).append(number)
    marks = torch.zeros_like(inputs.input_ids)  # 0: never masked
    for number, positions in enumerate(groups.values(), 1):
        marks[0, positions] = number
    with torch.no_grad():
        best = int(pair.theirs(**inputs).logits[0].argmax())
    theirs = FeatureAblation(lambda ids: pair.theirs(input_ids=ids).logits[:, best]).attribute(
        inputs.input_ids,
        baselines=torch.full_like(inputs.input_ids, tokens.mask),
        feature_mask=marks,
    )[0]
    monkeypatch.setattr(attribution, "FORWARD_SLICE", 20)
    assert attribute(pair.ours, query(text)).next is not None
    result = full_answer(pair.ours, query(text))
    assert [word.text for word in result.words] == ["abc", "de", "abcde"]
    expected = theirs[[indices[0] for indices in groups.values()]].tolist()
    assert [word.effect for word in result.words] == pytest.approx(expected, abs=CLOSE)
    assert result.explained.label == ("" if kind == "regression" else pair.ours.labels[best])
    assert (result.done, result.points) == (3, 3)


def test_the_best_choice_is_explained_by_text_and_choice(tmp_path):
    pair = Pair(tmp_path / "model", "multiple_choice", "AutoModelForMultipleChoice", 1)
    choices = {"pair": "b", "endings": ("ca", "dd e")}
    answer = attribute(pair.ours, query("abc de", **choices))
    choice = answer.explained.label
    predicted = predict(pair.ours, Predict(checkpoint=Path("any"), text="abc de", **choices))
    assert choice == predicted.predictions[0].ranked[0].label
    assert [word.text for word in answer.words] == ["abc", "de", "b", *choice.split()]
    tokenizer = transformers.AutoTokenizer.from_pretrained(pair.folder)

    def score(*hidden: int) -> float:
        inputs = tokenizer("abc de", f"b {choice}", return_tensors="pt")
        inputs.input_ids[0, list(hidden)] = tokenizer.mask_token_id
        with torch.no_grad():
            rows = {name: value[None] for name, value in inputs.items()}
            return float(pair.theirs(**rows).logits[0, 0])

    indices = [n for n, token in enumerate(answer.tokens) if (token.segment, token.word) == (0, 0)]
    assert answer.words[0].effect == pytest.approx(score() - score(*indices), abs=CLOSE)


def test_an_empty_text_has_no_words(tiny):
    answer = attribute(tiny, query(""))
    assert answer.words == () and answer.next is None and answer.points == 0


@pytest.mark.parametrize("baseline", ["mask", "pad", "zero"])
def test_integrated_gradients_sum_to_the_difference_in_every_family(known, baseline):
    """For the token predicted at a mask, and for the difference to another one."""
    masked = (2,)
    options = {"head": "mlm", "masked": masked, "method": "integrated_gradients",
             "baseline": baseline}  # fmt: skip
    result = full_answer(known.checkpoint, query("A quiet film.", **options))
    inputs = known.encode_text("A quiet film.", None, *masked)
    theirs = known.run(inputs).logits[0, 2, : known.checkpoint.tokenizer.size]
    assert result.explained.label == known.checkpoint.tokenizer.token(int(theirs.argmax()))
    assert result.explained.score == pytest.approx(float(theirs.max()), abs=CLOSE)
    assert result.baseline_score is not None and result.difference is not None
    shift = result.explained.score - result.baseline_score
    assert abs(shift) > 1e-3 and abs(result.difference) <= 0.01 * abs(shift)
    sums = sum(word.effect for word in result.words) + result.others
    assert sums == pytest.approx(shift, rel=0.01) and abs(result.others) < CLOSE
    against = known.checkpoint.tokenizer.token(int(theirs.argmin()))
    other = full_answer(known.checkpoint, query("A quiet film.", against=against, **options))
    assert other.explained.score == pytest.approx(float(theirs.max() - theirs.min()), abs=CLOSE)
    assert other.explained.against == against


def test_points_are_doubled_until_the_sum_is_close(classes, monkeypatch):
    """With slices of a few points, so that every part continues the previous one."""
    monkeypatch.setattr(attribution, "BACKWARD_SLICE", 40)
    request = query(method="integrated_gradients", points=1, pair=PAIR)
    first = attribute(classes.ours, request)
    assert (first.next, first.points) == (0, 2), "one point is not enough"
    result = full_answer(classes.ours, request)
    assert result.points > 2 and result.difference is not None
    assert result.effects == pytest.approx(
        attribute_in_one_slice(classes.ours, result.points).effects, abs=1e-5
    )
    monkeypatch.setattr(attribution, "BACKWARD_SLICE", 10_000)
    monkeypatch.setattr(attribution, "SUM_TOLERANCE", 0.0)
    assert full_answer(classes.ours, request).points == 256, "no more than these"


def attribute_in_one_slice(ours: Checkpoint, points: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attribution, "BACKWARD_SLICE", 100_000)
        question = query(method="integrated_gradients", points=points, pair=PAIR)
        return attribute(ours, question)


@pytest.mark.skipif(
    not is_available("float32"), reason="there is no packed product on this machine"
)
def test_the_packed_network_refuses_a_gradient(classes):
    """The outputs are the same, but its gradient would be silently wrong."""
    packed = Checkpoint(**vars(classes.ours) | {"network": pack_network(classes.ours.network,
                                                                          "float32")})  # fmt: skip
    answer = attribute(packed, query(pair=PAIR))
    assert answer.explained.score == pytest.approx(
        attribute(classes.ours, query(pair=PAIR)).explained.score, abs=CLOSE
    )
    for method in attribution.GRADIENTS:
        with pytest.raises(RuntimeError, match="no gradient"):
            attribute(packed, query(method=method, pair=PAIR))


def test_rollout_starts_at_the_explained_token(tags):
    _, rolled = weights(tags.ours, TEXT, PAIR, "rollout")
    result = attribute(tags.ours, query(method="rollout", position=5, pair=PAIR))
    first = tags.words.index(tags.words[5])
    assert result.explained.position == first
    assert result.effects == pytest.approx(rolled[-1, 0, first].tolist(), abs=1e-6)
    assert sum(result.effects) == pytest.approx(1, abs=1e-5) and result.difference is None


def test_start_and_end_of_an_answer_are_explained(tmp_path):
    pair = Pair(tmp_path / "model", "question_answering", "AutoModelForQuestionAnswering", 2)
    with torch.no_grad():
        theirs = pair.theirs(**pair.inputs)
    passage = [n for n, word in enumerate(pair.words) if word and word[0] == 1]
    for label, logits in (("start", theirs.start_logits[0]), ("end", theirs.end_logits[0])):
        result = attribute(pair.ours, query(label=label, pair=PAIR))
        best = max(passage, key=lambda n: float(logits[n]))
        assert result.explained.position == best
        assert result.explained.score == pytest.approx(float(logits[best]), abs=CLOSE)
    with pytest.raises(StudioError, match="passage"):
        attribute(pair.ours, query())


def test_a_probe_has_the_gradient_of_its_encoder(tmp_path):
    """Training a probe freezes its encoder; explaining it needs the gradient."""
    ours = load(
        folder(tmp_path / "probe", Heads(outputs=3, features=Features(vectors="sum of last four")))
    )
    result = full_answer(ours, query(method="integrated_gradients"))
    assert result.difference is not None and result.baseline_score is not None
    shift = result.explained.score - result.baseline_score
    assert abs(shift) > 1e-4 and abs(result.difference) <= 0.01 * abs(shift)


@pytest.mark.parametrize(
    "target,problem",
    [({"label": "none of them"}, "does not know the class"), ({"head": "mlm"}, "no MLM head")],
)
def test_unknown_classes_and_missing_heads_are_refused(classes, target, problem):
    with pytest.raises(StudioError, match=problem):
        attribute(classes.ours, query(pair=PAIR, **target))


def test_explaining_a_token_needs_a_mask_and_a_known_token(tiny):
    with pytest.raises(StudioError, match="No token is masked"):
        attribute(tiny, query(head="mlm"))
    with pytest.raises(StudioError, match="no token “xyz”"):
        attribute(tiny, query(head="mlm", masked=(1,), label="xyz"))
    inputs = encode_text(tiny, TEXT, None, (1,))
    result = attribute(tiny, query(head="mlm", masked=(1,), label="a"))
    with torch.no_grad():
        last = tiny.network.encoder(inputs.tokens, inputs.segments).last[0, 1]
        own = float(tiny.network.mlm(last)[tiny.tokenizer.id("a")])
    assert result.explained.score == pytest.approx(own, abs=CLOSE)
