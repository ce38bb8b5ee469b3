"""A few lines of Python that use a fine-tuned model without this program, and run as they stand."""

from collections.abc import Callable
from typing import NamedTuple

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


def transformers_code(task: str, folder: str, example: Example = USUAL) -> str:
    """For the library transformers, with the folder of a checkpoint or of an export to it."""
    head = head_of(task)
    model = f"AutoModel{head.architecture}"
    lines = [
        "import torch",
        f"from transformers import {model}, AutoTokenizer",
        f"folder = {folder!r}",
        "tokenizer = AutoTokenizer.from_pretrained(folder)",
        f"model = {model}.from_pretrained(folder).eval()",
        *_TRANSFORMERS[head.architecture](task, example),
    ]
    return "\n".join(lines) + "\n"


def onnx_code(task: str, folder: str, example: Example = USUAL) -> str:
    """For onnxruntime and tokenizers, without torch, with the folder of an export to ONNX."""
    lines = [
        "import json, numpy, onnxruntime, tokenizers",
        f"folder = {folder!r}",
        "session = onnxruntime.InferenceSession(f'{folder}/model.onnx')",
        "tokenizer = tokenizers.Tokenizer.from_file(f'{folder}/tokenizer.json')",
        *_ONNX[head_of(task).architecture](task, example),
    ]
    return "\n".join(lines) + "\n"


def _texts(task: str, example: Example) -> str:
    """The arguments of a tokenizer."""
    is_pair = "pair" in TASKS[task].facts.reads
    return f"{example.text!r}, {example.pair!r}" if is_pair else repr(example.text)


def _named(logits: str, task: str, names: str) -> list[str]:
    """What prints the numbers that a text as a whole gets."""
    if head_of(task).outputs == 1:
        return [f"print(float({logits}[0]))"]
    return [f"print({{{names}: float(p) for n, p in enumerate({_shares(logits, task)})}})"]


def _shares(logits: str, task: str) -> str:
    return f"{logits}.sigmoid()" if task == "multi_label" else f"{logits}.softmax(-1)"


def _sequence(task: str, example: Example) -> list[str]:
    return [
        f"inputs = tokenizer({_texts(task, example)}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    logits = model(**inputs).logits[0]",
        *_named("logits", task, "model.config.id2label[n]"),
    ]


def _tokens(_: str, example: Example) -> list[str]:
    return [
        f"inputs = tokenizer({example.passage!r}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    best = model(**inputs).logits[0].argmax(-1).tolist()",
        "tokens = inputs.tokens()",
        "print([(token, model.config.id2label[n]) for token, n in zip(tokens, best)])",
    ]


def _spans(_: str, example: Example) -> list[str]:
    texts = f"{example.question!r}, {example.passage!r}"
    return [
        f"inputs = tokenizer({texts}, return_tensors='pt', truncation='only_second')",
        "with torch.inference_mode():",
        "    said = model(**inputs)",
        "first, last = int(said.start_logits.argmax()), int(said.end_logits.argmax())",
        "print(tokenizer.decode(inputs['input_ids'][0, first : last + 1]))",
    ]


def _choices(_: str, example: Example) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        f"inputs = tokenizer([{example.text!r}] * len(choices), choices, padding=True,",
        "                   return_tensors='pt')",
        "with torch.inference_mode():",
        "    logits = model(**{name: value[None] for name, value in inputs.items()}).logits[0]",
        "print(dict(zip(choices, logits.softmax(-1).tolist())))",
    ]


GIVEN = (
    "given = {'input_ids': encoded.ids, 'attention_mask': encoded.attention_mask,",
    "         'token_type_ids': encoded.type_ids}",
    "given = {i.name: numpy.array([given[i.name]]) for i in session.get_inputs()}",
)
LABELS = "labels = list(json.load(open(f'{folder}/config.json'))['id2label'].values())"


def _onnx_sequence(task: str, example: Example) -> list[str]:
    lines = [
        f"encoded = tokenizer.encode({_texts(task, example)})",
        *GIVEN,
        "logits = session.run(None, given)[0][0]",
    ]
    if head_of(task).outputs == 1:
        return [*lines, "print(float(logits[0]))"]
    shares = "1 / (1 + numpy.exp(-logits))"
    if task != "multi_label":
        lines.append("shares = numpy.exp(logits - logits.max())")
        shares = "shares / shares.sum()"
    return [*lines, LABELS, f"print(dict(zip(labels, ({shares}).tolist())))"]


def _onnx_tokens(_: str, example: Example) -> list[str]:
    return [
        f"encoded = tokenizer.encode({example.passage!r})",
        *GIVEN,
        "best = session.run(None, given)[0][0].argmax(-1)",
        LABELS,
        "print([(token, labels[n]) for token, n in zip(encoded.tokens, best)])",
    ]


def _onnx_spans(_: str, example: Example) -> list[str]:
    return [
        f"encoded = tokenizer.encode({example.question!r}, {example.passage!r})",
        *GIVEN,
        "starts, ends = session.run(None, given)[:2]",
        "print(tokenizer.decode(encoded.ids[starts[0].argmax() : ends[0].argmax() + 1]))",
    ]


def _onnx_choices(_: str, example: Example) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        "tokenizer.enable_padding()",
        f"encoded = tokenizer.encode_batch([({example.text!r}, choice) for choice in choices])",
        "given = {'input_ids': [e.ids for e in encoded],",
        "         'attention_mask': [e.attention_mask for e in encoded],",
        "         'token_type_ids': [e.type_ids for e in encoded]}",
        "given = {i.name: numpy.array([given[i.name]]) for i in session.get_inputs()}",
        "logits = session.run(None, given)[0][0]",
        "shares = numpy.exp(logits - logits.max())",
        "print(dict(zip(choices, (shares / shares.sum()).tolist())))",
    ]


Lines = Callable[[str, Example], list[str]]
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
