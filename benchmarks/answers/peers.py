"""Sides of other libraries: transformers, and onnxruntime in float32 or int8."""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForMaskedLM, BertForSequenceClassification

from benchmarks.answers import texts

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
BATCH = 32
TOP = 5


def make_answerer(folder: Path, work: str, who: str, threads: int) -> Callable[[], object]:
    name, kind = ("classes", BertForSequenceClassification)
    if work != "rows":
        name, kind = ("words", BertForMaskedLM)
    tokenizer = AutoTokenizer.from_pretrained(folder / name)
    maps = {"attn_implementation": "eager"} if work.startswith("attention") else {}
    if who.startswith("ort"):
        maps = {"attn_implementation": "eager"}  # supported by the exporter
    model = kind.from_pretrained(folder / name, **maps).eval()
    if who == "pipeline":
        pipe = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu")
        sentence = texts.masked_text(folder, 16)
        return lambda: pipe(sentence, top_k=TOP)
    if work.startswith("attention"):
        text = texts.text(folder, int(work.partition("-")[2]))

        def attend() -> tuple[Tensor, ...]:
            inputs = tokenizer(text, return_tensors="pt")
            with torch.inference_mode():
                return model(**inputs, output_attentions=True).attentions

        return attend
    run = model
    if who.startswith("ort"):
        run = onnx_run(model, folder / f"{name}.onnx", threads, who.endswith("int8"))
    elif who.endswith("bfloat16"):
        run = model.to(torch.bfloat16)
    if work == "words":
        return lambda: predict(tokenizer, run, texts.masked_text(folder, 16))
    rows = texts.rows(folder)
    return lambda: classes(tokenizer, run, rows)


def predict(tokenizer: Any, run: Callable[..., Any], sentence: str) -> Any:
    inputs = tokenizer(sentence, return_tensors="pt")
    with torch.inference_mode():
        logits = run(**inputs).logits[0]
    position = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0]
    return torch.topk(logits[position].float().softmax(-1), TOP)


def classes(tokenizer: Any, run: Callable[..., Any], rows: list[str]) -> Tensor:
    """Probabilities float32 [rows, 2], computed in batches of similar length."""
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    answers = torch.zeros(len(rows), 2)
    for first in range(0, len(order), BATCH):
        numbers = order[first : first + BATCH]
        inputs = tokenizer([rows[n] for n in numbers], padding=True, return_tensors="pt")
        with torch.inference_mode():
            answers[numbers] = run(**inputs).logits.float().softmax(-1)
    return answers


class Logits:
    """Output of an ONNX graph with the interface of transformers."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits


class Wrapped(nn.Module):
    """A model with positional inputs, as the exporter needs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, real: Tensor, segments: Tensor) -> Tensor:
        output = self.model(input_ids=ids, attention_mask=real, token_type_ids=segments)
        logits: Tensor = output.logits
        return logits


def onnx_run(model: nn.Module, file: Path, threads: int, in_8_bits: bool) -> Callable[..., Logits]:
    """Export and quantize (unless the files exist), and load."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    if not file.exists():
        example = torch.ones(2, 16, dtype=torch.long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Wrapped(model),
                (example, example, example * 0),
                file,
                input_names=list(INPUTS),
                output_names=["logits"],
                dynamic_axes={name: {0: "b", 1: "t"} for name in INPUTS},
                opset_version=17,
                dynamo=False,
            )
    short = file.with_suffix(".int8.onnx")
    if in_8_bits and not short.exists():
        quantize_dynamic(file, short, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    used = short if in_8_bits else file
    session = onnxruntime.InferenceSession(used, options, providers=["CPUExecutionProvider"])

    def run(**inputs: Tensor) -> Logits:
        arrays = {name: inputs[name].numpy() for name in INPUTS}
        return Logits(torch.from_numpy(session.run(["logits"], arrays)[0]))

    return run


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("answer",))
    parser.add_argument("folder", type=Path)
    parser.add_argument("work")
    parser.add_argument("who")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warm", type=int, default=2, help="untimed answers")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    texts.answer_in_turn(
        make_answerer(options.folder, options.work, options.who, options.threads), options.warm
    )


if __name__ == "__main__":
    main(sys.argv[1:])
