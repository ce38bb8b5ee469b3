"""Answers of a trained model against other runtimes with the same weights, and how far they agree.

    python -m benchmarks answers int8 CHECKPOINT
    python -m benchmarks answers vectors MODEL --texts FILE

`int8`: a fine-tuned checkpoint of a run on its validation rows: ours in fp32 and in the precision
of `--precision fast`, transformers in fp32, and onnxruntime in fp32 and in its dynamic int8.
`vectors`: a sentence encoder on the texts of a file: ours, sentence-transformers, and an
onnxruntime session with the same weights, which is the runtime of fastembed.

All sides run in this process and take turns, from texts to labels or vectors, in batches of 32
sorted by length. CPU time counts. For sizes of files and equal texts see `applying fast`.
"""

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness

BATCH = 32
Floats = NDArray[np.float64]
Side = Callable[[list[str]], NDArray[Any]]


def main(arguments: list[str]) -> None:
    harness.run_part("answers", __doc__, {"int8": int8, "vectors": vectors}, arguments)


def int8(arguments: list[str]) -> None:
    parser = harness.parser("answers int8", __doc__)
    parser.add_argument("checkpoint", type=Path, help="of a run on texts with one label")
    options = _options(parser, arguments)
    from engine.models import checkpoint
    from engine.tasks.precision_agreement import validation_rows
    from engine.tasks.predicting import Predictor

    folder = options.checkpoint.absolute()
    exact, fast = (Predictor(folder, batch=BATCH, exact=is_exact) for is_exact in (True, False))
    rows = validation_rows(folder, exact.learner)
    assert rows is not None and rows.labels is not None, "the run needs validation rows"
    rows = rows.take(range(min(len(rows), options.rows)))
    texts, names = list(rows.texts), checkpoint.load(folder).labels
    gold = np.array([names.index(label) for label in rows.labels])

    def ours(predictor: Predictor) -> Side:
        def predict(_: list[str]) -> NDArray[Any]:
            # `collect` would find the outputs of the last turn
            predictor._known = type(predictor._known)()
            return np.asarray(predictor.collect(rows).logits).argmax(1)  # type: ignore[attr-defined]

        return predict

    with harness.work_folder(options.work) as work:
        model = _transformers(folder, "AutoModelForSequenceClassification")
        graphs = _graphs(folder, model, work, "logits")
        sides: dict[str, Side] = {
            "ours, fp32": ours(exact),
            f"ours, fast ({fast.computed})": ours(fast),
            "transformers, fp32": _classes(folder, _torch_run(model, "logits")),
            "onnxruntime, fp32": _classes(folder, _session(graphs[0], options.threads)),
            "onnxruntime, int8": _classes(folder, _session(graphs[1], options.threads)),
        }
        spent, found = _take_turns(sides, texts, options.rounds)
    print(fast.agreement.phrase if fast.agreement is not None else "", flush=True)
    peers = ("transformers, fp32", "onnxruntime, int8")
    heads = ("side", "CPU ms per text", *(f"× as fast as {peer}" for peer in peers))
    print(harness.table_head(*heads, "labels as transformers", "accuracy", "minus transformers"))
    reference = found[peers[0]]
    for name, seconds in spent.items():
        right = found[name] == gold
        harness.print_row(
            name,
            f"{1000 * median(seconds) / len(texts):.3f}",
            *(_ratio(spent[peer], seconds) for peer in peers),
            f"{np.mean(found[name] == reference):.2%}",
            f"{right.mean():.2%}",
            _difference(right.astype(float) - (reference == gold)),
        )
    _print_conditions(options, len(texts))


def vectors(arguments: list[str]) -> None:
    parser = harness.parser("answers vectors", __doc__)
    parser.add_argument("model", type=Path, help="folder of a sentence encoder, mean pooling")
    parser.add_argument("--texts", type=Path, required=True, help="a file with a text per line")
    options = _options(parser, arguments)
    from sentence_transformers import SentenceTransformer

    from engine.data.datasets.rows import Rows
    from engine.tasks.predicting import Predictor
    from engine.tasks.sentence_similarity import VECTOR

    folder = options.model.absolute()
    texts = [t for t in options.texts.read_text("utf-8").splitlines() if t.strip()][: options.rows]
    predictor = Predictor(folder, batch=BATCH)
    encoder = SentenceTransformer(str(folder), device="cpu")
    length = encoder.max_seq_length

    def ours(given: list[str]) -> NDArray[Any]:
        predictor._known = type(predictor._known)()
        return _unit(np.stack([row[VECTOR] for row in predictor.predict(Rows(texts=given))]))

    with harness.work_folder(options.work) as work:
        graph = _graphs(folder, _transformers(folder, "AutoModel"), work, "last_hidden_state")[0]
        sides: dict[str, Side] = {
            "ours": ours,
            "sentence-transformers": lambda given: _unit(
                encoder.encode(given, batch_size=BATCH, show_progress_bar=False)
            ),
            "onnxruntime (as fastembed)": _pooled(folder, _session(graph, options.threads), length),
        }
        spent, found = _take_turns(sides, texts, options.rounds)
    heads = ("side", "CPU ms per text", "ours is × as fast", "cosine with sentence-transformers")
    print(harness.table_head(*heads))
    for name, seconds in spent.items():
        cosine = (found[name] * found["sentence-transformers"]).sum(1)
        harness.print_row(
            name,
            f"{1000 * median(seconds) / len(texts):.3f}",
            _ratio(seconds, spent["ours"]),
            f"{cosine.mean():.6f} (lowest {cosine.min():.6f})",
        )
    _print_conditions(options, len(texts))


# ── sides ────────────────────────────────────────────────────────────────────────────────────


def _transformers(folder: Path, kind: str) -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    eager = {"attn_implementation": "eager"}  # the exporter supports it
    return getattr(transformers, kind).from_pretrained(folder, **eager).eval()


def _torch_run(model: Any, output: str) -> Callable[[dict[str, Any]], NDArray[Any]]:
    import torch

    def run(inputs: dict[str, Any]) -> NDArray[Any]:
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        with torch.inference_mode():
            result: NDArray[Any] = getattr(model(**tensors), output).numpy()
        return result

    return run


def _graphs(folder: Path, model: Any, work: Path, output: str) -> tuple[Path, Path]:
    """ONNX graphs of the model in fp32 and in dynamic int8, as onnxruntime makes them."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoTokenizer

    names = list(AutoTokenizer.from_pretrained(folder).model_input_names)
    graph, short = work / f"{output}.onnx", work / f"{output}.int8.onnx"
    if not graph.exists():

        class Positional(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
                given = dict(zip(names, inputs, strict=True))
                result: torch.Tensor = getattr(self.model(**given), output)
                return result

        one = torch.ones(2, 16, dtype=torch.long)
        example = tuple(one * 0 if name == "token_type_ids" else one for name in names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                # the exporter leaves all modules in the mode of the outermost one
                Positional().eval(),
                example,
                graph,
                input_names=names,
                output_names=["out"],
                dynamic_axes={name: {0: "b", 1: "t"} for name in names},
                opset_version=17,
                dynamo=False,
            )
    if not short.exists():
        quantize_dynamic(graph, short, weight_type=QuantType.QInt8)
    return graph, short


def _session(graph: Path, threads: int) -> Callable[[dict[str, Any]], NDArray[Any]]:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
    known = {item.name for item in session.get_inputs()}

    def run(inputs: dict[str, Any]) -> NDArray[Any]:
        given = {name: array for name, array in inputs.items() if name in known}
        result: NDArray[Any] = session.run(["out"], given)[0]
        return result

    return run


def _batches(folder: Path, length: int | None = None) -> Callable[[list[str]], Any]:
    """A function that yields the places and inputs of batches sorted by length."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    limit = {} if length is None else {"truncation": True, "max_length": length}

    def split(texts: list[str]) -> Any:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            given = [texts[place] for place in places]
            yield places, dict(tokenizer(given, padding=True, return_tensors="np", **limit))

    return split


def _classes(folder: Path, run: Callable[[dict[str, Any]], NDArray[Any]]) -> Side:
    split = _batches(folder)

    def predict(texts: list[str]) -> NDArray[Any]:
        labels = np.zeros(len(texts), np.int64)
        for places, inputs in split(texts):
            labels[places] = run(inputs).argmax(1)
        return labels

    return predict


def _pooled(folder: Path, run: Callable[[dict[str, Any]], NDArray[Any]], length: int) -> Side:
    split = _batches(folder, length)

    def encode(texts: list[str]) -> NDArray[Any]:
        pooled: dict[int, NDArray[Any]] = {}
        for places, inputs in split(texts):
            mask = inputs["attention_mask"][..., None].astype(np.float32)
            means = (run(inputs) * mask).sum(1) / mask.sum(1)
            pooled |= dict(zip(places, means, strict=True))
        return _unit(np.stack([pooled[place] for place in range(len(texts))]))

    return encode


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def _options(parser: Any, arguments: list[str]) -> Any:
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--work", type=Path, help="a folder that keeps the graphs")
    options = parser.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch

    torch.set_num_threads(options.threads)
    return options


def _take_turns(
    sides: dict[str, Side], texts: list[str], rounds: int
) -> tuple[dict[str, list[float]], dict[str, NDArray[Any]]]:
    """CPU seconds of each side by round, after one to warm up, and what it answers."""
    found = {name: side(texts) for name, side in sides.items()}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else reversed(sides):
            began = time.process_time()
            sides[name](texts)
            spent[name].append(time.process_time() - began)
    return spent, found


def _ratio(above: list[float], below: list[float]) -> str:
    return harness.median_range([a / b for a, b in zip(above, below, strict=True)])


def _difference(differences: Floats) -> str:
    """Mean of paired differences in points with its bootstrap interval over rows."""
    from engine.results.intervals import mean_interval

    if not differences.any():
        return "0"
    value, low, high = (100 * end for end in mean_interval(differences))
    return f"{value:+.2f} points ({low:+.2f} to {high:+.2f})"


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return result


def _print_conditions(options: Any, texts: int) -> None:
    print(
        f"\n{harness.cpu_name()}, {options.threads} thread(s) of {os.cpu_count()}; {texts:,} "
        f"texts, {options.rounds} rounds in turns; CPU time; load {os.getloadavg()[0]:.1f}"
    )
