"""A few lines of Python that use a fine-tuned model without this program, and run as they stand."""

from collections.abc import Callable
from typing import NamedTuple

from engine.spec.prediction import PredictionSettings
from engine.spec.task import CHOICES, SEQUENCE, SPANS, TOKENS
from engine.spec.tasks import TASKS, head_of


class Example(NamedTuple):
    """Texts to try a model with."""

    text: str = "A text like those that the model was trained on."
    pair: str = "The second text."
    question: str = "Where does Ann live?"
    passage: str = "Ann lives in Rome and Bob in Oslo."
    choices: tuple[str, ...] = ("She sang a song.", "She sang a tree.")


USUAL = Example()
AS_TRAINED = PredictionSettings()


def transformers_code(
    task: str,
    folder: str,
    example: Example = USUAL,
    settings: PredictionSettings = AS_TRAINED,
) -> str:
    """For the library transformers, with the folder of a checkpoint or of an export to it.

    The lines predict with the thresholds and the temperature of `settings`.
    """
    head = head_of(task)
    model = f"AutoModel{head.architecture}"
    lines = [
        "import torch",
        f"from transformers import {model}, AutoTokenizer",
        f"folder = {folder!r}",
        "tokenizer = AutoTokenizer.from_pretrained(folder)",
        f"model = {model}.from_pretrained(folder).eval()",
        *_TRANSFORMERS[head.architecture](task, example, settings),
    ]
    return "\n".join(lines) + "\n"


def onnx_code(
    task: str,
    folder: str,
    example: Example = USUAL,
    settings: PredictionSettings = AS_TRAINED,
) -> str:
    """For onnxruntime and tokenizers, without torch, with the folder of an export to ONNX.

    The lines predict with the thresholds and the temperature of `settings`.
    """
    lines = [
        "import json, numpy, onnxruntime, tokenizers",
        f"folder = {folder!r}",
        "session = onnxruntime.InferenceSession(f'{folder}/model.onnx')",
        "tokenizer = tokenizers.Tokenizer.from_file(f'{folder}/tokenizer.json')",
        *_ONNX[head_of(task).architecture](task, example, settings),
    ]
    return "\n".join(lines) + "\n"


def _texts(task: str, example: Example) -> str:
    """The arguments of a tokenizer."""
    is_pair = "pair" in TASKS[task].facts.reads
    return f"{example.text!r}, {example.pair!r}" if is_pair else repr(example.text)


def _divided(settings: PredictionSettings) -> str:
    """What divides logits by the temperature; nothing at 1."""
    return "" if settings.temperature == 1 else f" / {settings.temperature!r}"


def _said(task: str, settings: PredictionSettings) -> list[str]:
    """What prints `shares`, the probabilities by label, and what the thresholds predict."""
    lines = ["print(shares)"]
    if task == "multi_label":
        least = f"{settings.thresholds!r}.get(name, 0.5)" if settings.thresholds else "0.5"
        lines.append(f"print([name for name, p in shares.items() if p >= {least}])")
    elif settings.threshold != AS_TRAINED.threshold:
        lines.append(f"print(list(shares)[list(shares.values())[-1] >= {settings.threshold!r}])")
    return lines


def _sequence(task: str, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"inputs = tokenizer({_texts(task, example)}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        f"    logits = model(**inputs).logits[0]{_divided(settings)}",
        *_numbers_or_shares(task, settings),
    ]


def _numbers_or_shares(task: str, settings: PredictionSettings) -> list[str]:
    if head_of(task).outputs == 1:
        return ["print(float(logits[0]))"]
    shares = "logits.sigmoid()" if task == "multi_label" else "logits.softmax(-1)"
    names = "model.config.id2label[n]: float(p)"
    return [f"shares = {{{names} for n, p in enumerate({shares})}}", *_said(task, settings)]


def _tokens(_: str, example: Example, __: PredictionSettings) -> list[str]:
    return [
        f"inputs = tokenizer({example.passage!r}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    best = model(**inputs).logits[0].argmax(-1).tolist()",
        "tokens = inputs.tokens()",
        "print([(token, model.config.id2label[n]) for token, n in zip(tokens, best)])",
    ]


def _spans(_: str, example: Example, __: PredictionSettings) -> list[str]:
    texts = f"{example.question!r}, {example.passage!r}"
    return [
        f"inputs = tokenizer({texts}, return_tensors='pt', truncation='only_second')",
        "with torch.inference_mode():",
        "    said = model(**inputs)",
        "first, last = int(said.start_logits.argmax()), int(said.end_logits.argmax())",
        "print(tokenizer.decode(inputs['input_ids'][0, first : last + 1]))",
    ]


def _choices(_: str, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        f"inputs = tokenizer([{example.text!r}] * len(choices), choices, padding=True,",
        "                   return_tensors='pt')",
        "with torch.inference_mode():",
        "    logits = model(**{name: value[None] for name, value in inputs.items()}).logits[0]",
        *_scaled(settings),
        "print(dict(zip(choices, logits.softmax(-1).tolist())))",
    ]


def _scaled(settings: PredictionSettings) -> list[str]:
    divided = _divided(settings)
    return [f"logits = logits{divided}"] if divided else []


GIVEN = (
    "given = {'input_ids': encoded.ids, 'attention_mask': encoded.attention_mask,",
    "         'token_type_ids': encoded.type_ids}",
    "given = {i.name: numpy.array([given[i.name]]) for i in session.get_inputs()}",
)
LABELS = "labels = list(json.load(open(f'{folder}/config.json'))['id2label'].values())"


def _onnx_sequence(task: str, example: Example, settings: PredictionSettings) -> list[str]:
    lines = [
        f"encoded = tokenizer.encode({_texts(task, example)})",
        *GIVEN,
        f"logits = session.run(None, given)[0][0]{_divided(settings)}",
    ]
    if head_of(task).outputs == 1:
        return [*lines, "print(float(logits[0]))"]
    shares = "1 / (1 + numpy.exp(-logits))"
    if task != "multi_label":
        lines.append("shares = numpy.exp(logits - logits.max())")
        shares = "shares / shares.sum()"
    lines += [LABELS, f"shares = dict(zip(labels, ({shares}).tolist()))"]
    return lines + _said(task, settings)


def _onnx_tokens(_: str, example: Example, __: PredictionSettings) -> list[str]:
    return [
        f"encoded = tokenizer.encode({example.passage!r})",
        *GIVEN,
        "best = session.run(None, given)[0][0].argmax(-1)",
        LABELS,
        "print([(token, labels[n]) for token, n in zip(encoded.tokens, best)])",
    ]


def _onnx_spans(_: str, example: Example, __: PredictionSettings) -> list[str]:
    return [
        f"encoded = tokenizer.encode({example.question!r}, {example.passage!r})",
        *GIVEN,
        "starts, ends = session.run(None, given)[:2]",
        "print(tokenizer.decode(encoded.ids[starts[0].argmax() : ends[0].argmax() + 1]))",
    ]


def _onnx_choices(_: str, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        "tokenizer.enable_padding()",
        f"encoded = tokenizer.encode_batch([({example.text!r}, choice) for choice in choices])",
        "given = {'input_ids': [e.ids for e in encoded],",
        "         'attention_mask': [e.attention_mask for e in encoded],",
        "         'token_type_ids': [e.type_ids for e in encoded]}",
        "given = {i.name: numpy.array([given[i.name]]) for i in session.get_inputs()}",
        f"logits = session.run(None, given)[0][0]{_divided(settings)}",
        "shares = numpy.exp(logits - logits.max())",
        "print(dict(zip(choices, (shares / shares.sum()).tolist())))",
    ]


Lines = Callable[[str, Example, PredictionSettings], list[str]]
_TRANSFORMERS: dict[str, Lines] = {
    SEQUENCE: _sequence,
    TOKENS: _tokens,
    SPANS: _spans,
    CHOICES: _choices,
}
_ONNX: dict[str, Lines] = {
    SEQUENCE: _onnx_sequence,
    TOKENS: _onnx_tokens,
    SPANS: _onnx_spans,
    CHOICES: _onnx_choices,
}
