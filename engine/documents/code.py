"""Runnable Python examples that use a fine-tuned model without this program."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from engine.config.joined_texts import COLUMN, template_columns
from engine.config.levels import Levels
from engine.config.prediction import PredictionSettings
from engine.config.task import (
    CHOICES,
    ENCODER,
    SEQUENCE,
    SPANS,
    TOKENS,
    AggregatingTask,
    LabelledTask,
    TaskSpec,
    WindowedTask,
)
from engine.config.tasks import get_head
from engine.config.tasks.question_answering import QuestionAnswering
from engine.config.tasks.span_classification import PRIOR, SPAN_SIZE, SpanClassification


class Example(NamedTuple):
    """Example texts, and what is known of the model.

    `columns`: the columns or templates of its texts by role. `probe`: the pooling of a linear probe
    on the last layer, “” for another probe, None without a probe.
    """

    text: str = "A text like those that the model was trained on."
    pair: str = "The second text."
    question: str = "Where does Ann live?"
    passage: str = "Ann lives in Rome and Bob in Oslo."
    choices: tuple[str, ...] = ("She sang a song.", "She sang a tree.")
    columns: Mapping[str, str] = MappingProxyType({})
    probe: str | None = None

    @property
    def templates(self) -> list[str]:
        """The columns or templates, if one of them is a template."""
        names = [*self.columns.values()]
        return names if any(map(template_columns, names)) else []


ROOM = 5  # special tokens around question and passage, and a token of the passage
EXAMPLE = Example()
DEFAULTS = PredictionSettings()


def transformers_code(
    task: TaskSpec, folder: str, example: Example = EXAMPLE, settings: PredictionSettings = DEFAULTS
) -> str:
    """Code for transformers, with the folder of a checkpoint or of an export to it.

    Sentence encoders use sentence-transformers. The code applies the thresholds and the temperature
    of `settings`; of tags and spans it does not print if they are unsure.
    """
    head = get_head(task.kind)
    if head.pools:
        return "\n".join(_sentences(task, folder, example)) + "\n"
    if example.probe is not None:
        return "\n".join(_probe(task, folder, example, settings)) + "\n"
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
    task: TaskSpec, folder: str, example: Example = EXAMPLE, settings: PredictionSettings = DEFAULTS
) -> str:
    """Code for onnxruntime and tokenizers, without torch, with the folder of an ONNX export.

    The code applies `settings` as `transformers_code` does.
    """
    architecture = get_head(task.kind).architecture
    length_lines = (
        "length = json.load(open(f'{folder}/tokenizer_config.json'))['model_max_length']",
        *(() if architecture == SPANS else ("tokenizer.enable_truncation(length)",)),
    )
    lines = [
        "import json, numpy, onnxruntime, tokenizers",
        f"folder = {folder!r}",
        "session = onnxruntime.InferenceSession(f'{folder}/model.onnx')",
        "tokenizer = tokenizers.Tokenizer.from_file(f'{folder}/tokenizer.json')",
        *(() if reads_windows(task) else length_lines),
        *_ONNX[architecture](task, example, settings),
    ]
    return "\n".join(lines) + "\n"


def _row(example: Example) -> list[str]:
    """A row with the columns that the templates join; nothing without a template."""
    names = [name for text in example.templates for name in template_columns(text) or (text,)]
    if not names:
        return []
    row = dict(zip(names, names, strict=True))
    return [f"row = {row!r}  # by column; leave out what introduces an empty cell"]


def _joined(template: str) -> str:
    """The expression of a text that is joined from the cells of a row."""
    parts = COLUMN.split(template if template_columns(template) else f"{{{template}}}")
    cells = (f"row[{part!r}]" if n % 2 else repr(part) for n, part in enumerate(parts) if part)
    return " + ".join(cells)


def _texts(task: TaskSpec, example: Example) -> str:
    if example.templates:
        return ", ".join(map(_joined, example.templates))
    is_pair = "pair" in task.info.reads
    return f"{example.text!r}, {example.pair!r}" if is_pair else repr(example.text)


def _probe(
    task: TaskSpec, folder: str, example: Example, settings: PredictionSettings
) -> list[str]:
    """Code for a probe, which transformers does not know, on its encoder."""
    is_whole = get_head(task.kind).architecture == SEQUENCE and not reads_windows(task)
    if not example.probe or not is_whole:
        return [
            "# transformers runs the encoder of this model, but not its classifier:",
            "# bert-studio predict FILE --model FOLDER --out OUT",
        ]
    vector = "hidden.mean(0)" if example.probe == "mean" else "hidden[0]"
    return [
        "import torch",
        "from safetensors.torch import load_file",
        "from transformers import AutoModel, AutoTokenizer",
        f"folder = {folder!r}",
        "tokenizer = AutoTokenizer.from_pretrained(folder)",
        "model = AutoModel.from_pretrained(folder).eval()",
        "weights = load_file(f'{folder}/model.safetensors')",
        "weight, bias = weights['probe.dense.weight'], weights['probe.dense.bias']",
        f"inputs = tokenizer({_texts(task, example)}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    hidden = model(**inputs).last_hidden_state[0]",
        f"    logits = ({vector} @ weight.T + bias){_divisor(settings)}",
        *_output_lines(task, settings),
    ]


def _divisor(settings: PredictionSettings) -> str:
    """Division of logits by the temperature; empty at 1."""
    return "" if settings.temperature == 1 else f" / {settings.temperature!r}"


def _print_lines(task: TaskSpec, settings: PredictionSettings) -> list[str]:
    """Print `probs`, the probabilities by label, and the predictions by the thresholds and sets."""
    lines, certainty = ["print(probs)"], "max(probs.values())"
    if get_head(task.kind).is_multi_label:
        threshold = f"{settings.thresholds!r}.get(name, 0.5)" if settings.thresholds else "0.5"
        lines.append(f"print([name for name, p in probs.items() if p >= {threshold}])")
        certainty = "min(max(p, 1 - p) for p in probs.values())"
    elif get_head(task.kind).is_ordinal:
        count = "sum(sum([*probs.values()][:n]) < 0.5 for n in range(1, len(probs)))"
        lines += [f"label = [*probs][{count}]  # the median", "print(label)"]
        certainty = "probs[label]"
    elif task.info.has_levels and isinstance(task, LabelledTask):
        lines += _level_lines(Levels(task.labels), settings.unsure_below)
        certainty = "probs[label]"
    elif settings.threshold != DEFAULTS.threshold:
        label = f"list(probs)[list(probs.values())[-1] >= {settings.threshold!r}]"
        lines += [f"label = {label}", "print(label)"]
        certainty = "probs[label]"
    if settings.sets is not None and get_head(task.kind).classifies:
        least = settings.sets.least
        lowest = f"{least!r}.get(name, 2)" if settings.sets.by_class else repr(max(least.values()))
        lines.append(f"print([name for name, p in probs.items() if p >= {lowest}])")
    return [*lines, *_unsure_lines(certainty, settings)]


def _level_lines(hierarchy: Levels, unsure_below: float) -> list[str]:
    """Lines that print the most likely node of each level, and the `label` that they lead to."""
    sign, sure = hierarchy.separator, ""
    if unsure_below:
        sure = f", 'sure' if nodes[best] >= {unsure_below!r} else 'unsure'"
    return [
        "left = probs",
        f"for level in range({hierarchy.depth}):",
        f"    path = {{name: name.split({sign!r})[:level + 1] for name in left}}",
        "    path = {name: tuple(map(str.strip, parts)) for name, parts in path.items()}",
        "    nodes = {node: 0 for node in path.values()}",
        "    for name, p in left.items():",
        "        nodes[path[name]] += p",
        "    best = max(nodes, key=nodes.get)",
        "    if len(best) > level:",
        f"        print(best, nodes[best]{sure})",
        "    left = {name: p for name, p in left.items() if path[name] == best}",
        "label = max(left, key=left.get)",
        "print(label)",
    ]


def _unsure_lines(certainty: str, settings: PredictionSettings) -> list[str]:
    """Print if a prediction is less certain than the threshold; nothing without one."""
    below = settings.unsure_below
    return [f"print('unsure' if {certainty} < {below!r} else 'sure')"] if below else []


def reads_windows(task: TaskSpec) -> TypeGuard[WindowedTask]:
    """True if the task reads long texts in windows of a known length."""
    return isinstance(task, WindowedTask) and task.reads_windows and task.window_length > 0


def windowed(task: TaskSpec) -> AggregatingTask | None:
    """The task, if it pools the windows of long texts."""
    return task if reads_windows(task) and isinstance(task, AggregatingTask) else None


def _overlap(room: int, stride: int) -> int:
    """Tokens that two windows with `room` tokens of a text have in common."""
    return room - min(stride or max(3 * room // 4, 1), room)


def _pair_overlap(task: AggregatingTask, count: str) -> list[str]:
    """Lines that set `cut`, the longer of two texts, and `overlap`, as `_overlap`."""
    step = "max(3 * room // 4, 1)" if not task.doc_stride else f"min({task.doc_stride}, room)"
    return [
        f"counts = [{count} for one in texts]  # the shorter text must fit into half of a window",
        "cut = 'only_first' if counts[0] > counts[1] else 'only_second'",
        f"room = {task.window_length} - special - min(counts)",
        f"overlap = room - {step}",
    ]


def _window_inputs(task: AggregatingTask, example: Example) -> list[str]:
    """Lines that set `inputs`, a row for each window."""
    lines, texts, overlap, cut = list[str](), _texts(task, example), "", "True"
    if "pair" in task.info.reads:
        count = "len(tokenizer(one, add_special_tokens=False)['input_ids'])"
        lines = [
            f"texts = {texts}",
            "special = tokenizer.num_special_tokens_to_add(pair=True)",
            *_pair_overlap(task, count),
        ]
        texts, overlap, cut = "*texts", "overlap", "cut"
    overlap = overlap or str(_overlap(task.window_length - 2, task.doc_stride))
    return [
        *lines,
        f"inputs = tokenizer({texts}, return_tensors='pt', padding=True, truncation={cut},",
        f"                   max_length={task.window_length}, stride={overlap},",
        "                   return_overflowing_tokens=True)  # a row for each window",
        "inputs.pop('overflow_to_sample_mapping')",
    ]


def _sequence(task: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    if (windows := windowed(task)) is not None:
        pooled = {
            "mean": "outputs.mean(0)",
            "max": "outputs.amax(0)",
            "first": "outputs[0]",
            "attention": "(vectors[0] @ score).softmax(0) @ outputs",
        }[windows.aggregate]
        attention = [
            "from safetensors.torch import load_file",
            "score = load_file(f'{folder}/model.safetensors')['window_score.weight'][0]",
            "vectors = []  # what the last layer reads",
            "last = [one for one in model.modules() if isinstance(one, torch.nn.Linear)][-1]",
            "last.register_forward_hook(lambda _, given, __: vectors.append(given[0]))",
        ]
        return [
            *_row(example),
            *_window_inputs(windows, example),
            *(attention if windows.aggregate == "attention" else []),
            "with torch.inference_mode():",
            "    outputs = model(**inputs).logits",
            *(f"    {line}" for line in _ordinal_lines(task)),
            f"    logits = {pooled}{_divisor(settings)}",
            *_output_lines(task, settings),
        ]
    return [
        *_row(example),
        f"inputs = tokenizer({_texts(task, example)}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    outputs = model(**inputs).logits[0]",
        *(f"    {line}" for line in _ordinal_lines(task)),
        f"    logits = outputs{_divisor(settings)}",
        *_output_lines(task, settings),
    ]


def _ordinal_lines(task: TaskSpec) -> list[str]:
    """Lines that make `outputs` log-probabilities, for ordered labels; an ONNX graph has them."""
    if not get_head(task.kind).is_ordinal:
        return []
    return [
        "steps, zero = outputs[..., 1:], torch.zeros_like(outputs[..., :1])",
        "outputs = torch.cat([zero, steps.sigmoid().log().cumsum(-1)], -1)  # each label or higher",
        "outputs = outputs + torch.cat([(-steps).sigmoid().log(), zero], -1)  # each label",
    ]


def _output_lines(task: TaskSpec, settings: PredictionSettings) -> list[str]:
    if get_head(task.kind).outputs == 1:
        activation = ".sigmoid()" if settings.activation == "sigmoid" else ""
        return [f"print(float(logits[0]{activation}))"]
    probabilities = (
        "logits.sigmoid()" if get_head(task.kind).is_multi_label else "logits.softmax(-1)"
    )
    names = "model.config.id2label[n]: float(p)"
    lines = [f"probs = {{{names} for n, p in enumerate({probabilities})}}"]
    return lines + _print_lines(task, settings)


def _windows_of_tokens(task: WindowedTask, tags: str, tokens: str, label: str) -> list[str]:
    """Lines that print each token with its label, from the window with the most context.

    `tags` and `tokens` are those of window `n`, as lists with [CLS] and [SEP]; `label` is the name
    of a `tag`.
    """
    room = task.window_length - 2
    step = room - _overlap(room, task.doc_stride)
    return [
        f"    tags, tokens = {tags}, {tokens}",
        "    for at in range(1, len(tokens) - 1):",
        "        inside = min(at, len(tokens) - 1 - at)",
        f"        if inside > best.get({step} * n + at, (0,))[0]:",
        "            tag = tags[at]",
        f"            best[{step} * n + at] = inside, tokens[at], {label}",
        "print([best[place][1:] for place in sorted(best)])",
    ]


def _tokens(task: TaskSpec, example: Example, _: PredictionSettings) -> list[str]:
    if isinstance(task, SpanClassification):
        return [
            *_words(example),
            "inputs = tokenizer(words, is_split_into_words=True, return_tensors='pt',",
            "                   truncation=True)",
            "with torch.inference_mode():",
            "    outputs = model(**inputs).logits[0].numpy()",
            "owners, names = inputs.word_ids(), model.config.id2label",
            *_labelled_spans(task),
        ]
    if reads_windows(task):
        overlap = _overlap(task.window_length - 2, task.doc_stride)
        return [
            f"inputs = tokenizer({example.passage!r}, return_tensors='pt', padding=True,",
            f"                   truncation=True, max_length={task.window_length},",
            f"                   stride={overlap}, return_overflowing_tokens=True)",
            "inputs.pop('overflow_to_sample_mapping')",
            "with torch.inference_mode():",
            "    logits = model(**inputs).logits",
            "best = {}  # by place in the text",
            "for n, ids in enumerate(inputs['input_ids']):  # each window",
            "    ids = ids[inputs['attention_mask'][n] > 0]",
            *_windows_of_tokens(
                task,
                "logits[n].argmax(-1).tolist()",
                "tokenizer.convert_ids_to_tokens(ids)",
                "model.config.id2label[tag]",
            ),
        ]
    return [
        f"inputs = tokenizer({example.passage!r}, return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    best = model(**inputs).logits[0].argmax(-1).tolist()",
        "tokens = inputs.tokens()",
        "print([(token, model.config.id2label[n]) for token, n in zip(tokens, best)])",
    ]


def _words(example: Example) -> list[str]:
    """Lines that set `words`, roughly as BERT Studio splits a text."""
    return [
        "import numpy, re",
        f"words = re.findall(r'\\w[\\w.-]*\\w|\\w|[^\\w\\s]', {example.passage!r})",
    ]


def _labelled_spans(task: SpanClassification) -> list[str]:
    """Lines that print the spans of `words` from the `outputs` of tokens and the word of each."""
    size = SPAN_SIZE
    return [
        "found = [n for n in range(len(words)) if n in owners]",
        "outputs = outputs[[owners.index(n) for n in found]]  # of the first token of each word",
        f"count = outputs.shape[1] // 2 - {size}  # labels",
        f"parts = numpy.split(outputs, [count, 2 * count, 2 * count + {size}], 1)",
        f"steps = numpy.arange(0, {size}, 2) / {size}",
        "turn = numpy.exp(1j * numpy.arange(len(found))[:, None] / 10000**steps)",
        "first, last = ((x[:, ::2] + 1j * x[:, 1::2]) * turn for x in parts[2:])",
        f"scores = (first @ last.conj().T).real / {size} ** 0.5",
        "spans = []",
        "for i in range(len(found)):",
        f"    for j in range(i, min(i + {task.max_words}, len(found))):",
        f"        logits = scores[i, j] + parts[0][i] + parts[1][j] - {PRIOR}",
        "        for c in numpy.flatnonzero(logits > 0).tolist():",
        "            span = ' '.join(words[found[i] : found[j] + 1])",
        "            spans.append((span, names[c], float(1 / (1 + numpy.exp(-logits[c])))))",
        "print(spans)",
    ]


def _spans(task: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"question, passage = {example.question!r}, {example.passage!r}",
        "tokens = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)",
        *_cut_question(task, "tokens['offset_mapping']", "tokenizer.model_max_length"),
        "inputs = tokenizer(question, passage, return_tensors='pt', truncation='only_second',",
        "                   return_offsets_mapping=True)",
        "offsets = inputs.pop('offset_mapping')[0].tolist()",
        "with torch.inference_mode():",
        "    outputs = model(**inputs)",
        "starts, ends = outputs.start_logits[0].tolist(), outputs.end_logits[0].tolist()",
        "inside = [n for n, part in enumerate(inputs.sequence_ids()) if part == 1]",
        *_best_span(task, settings),
    ]


def _cut_question(task: TaskSpec, offsets: str, length: str) -> list[str]:
    """Keep as many tokens of a long question as the task reads, with room for the passage."""
    assert isinstance(task, QuestionAnswering)
    return [
        f"longest = min({task.max_question_length}, {length} - {ROOM})",
        f"question = question[: max((end for _, end in {offsets}[:longest]), default=0)]",
    ]


def _best_span(task: TaskSpec, settings: PredictionSettings) -> list[str]:
    """The best span of the passage; if allowed, no answer above the threshold."""
    assert isinstance(task, QuestionAnswering)
    answer = "passage[offsets[first][0] : offsets[last][1]]"
    lines = [
        "score, first, last = max((starts[a] + ends[b], a, b) for a in inside for b in inside",
        f"                         if a <= b < a + {task.max_answer_length})",
    ]
    if not task.unanswerable:
        return [*lines, f"print({answer})"]
    threshold = settings.no_answer_threshold
    threshold = task.no_answer_threshold if threshold is None else threshold
    return [
        *lines,
        "no_answer = starts[0] + ends[0] - score  # how much higher it scores than the answer",
        f"print('' if no_answer > {threshold!r} else {answer})",
    ]


def _choices(_: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        f"inputs = tokenizer([{example.text!r}] * len(choices), choices, padding=True,",
        "                   return_tensors='pt', truncation=True)",
        "with torch.inference_mode():",
        "    logits = model(**{name: value[None] for name, value in inputs.items()}).logits[0]",
        *_scale_lines(settings),
        "probs = logits.softmax(-1).tolist()",
        "print(dict(zip(choices, probs)))",
        *_unsure_lines("max(probs)", settings),
    ]


def _scale_lines(settings: PredictionSettings) -> list[str]:
    divisor = _divisor(settings)
    return [f"logits = logits{divisor}"] if divisor else []


def _sentences(task: TaskSpec, folder: str, example: Example) -> list[str]:
    if (windows := windowed(task)) is not None:
        pooled = {"max": "amax(0)", "first": "select(0, 0)"}.get(windows.aggregate, "mean(0)")
        overlap = _overlap(windows.window_length - 2, windows.doc_stride)
        return [
            "import torch",
            "from sentence_transformers import SentenceTransformer, util",
            f"model = SentenceTransformer({folder!r})",
            "prompt = model.prompts.get(model.default_prompt_name) or ''",
            "vectors = []",
            f"for text in ({example.text!r}, {example.pair!r}):",
            "    text = prompt + text",
            f"    cut = model.tokenizer(text, truncation=True, max_length={windows.window_length},",
            f"                          stride={overlap}, return_overflowing_tokens=True,",
            "                          return_offsets_mapping=True)['offset_mapping']",
            "    parts = [text[places[1][0] : places[-2][1]] for places in cut]  # each window",
            f"    vectors.append(torch.tensor(model.encode(parts, prompt='')).{pooled})",
            "print(float(util.cos_sim(vectors[0], vectors[1])))",
        ]
    return [
        "from sentence_transformers import SentenceTransformer, util",
        f"model = SentenceTransformer({folder!r})",
        f"vectors = model.encode([{example.text!r}, {example.pair!r}])",
        "print(float(util.cos_sim(vectors[0], vectors[1])))",
    ]


INPUTS = (
    "inputs = {'input_ids': encoded.ids, 'attention_mask': encoded.attention_mask,",
    "          'token_type_ids': encoded.type_ids}",
    "inputs = {i.name: numpy.array([inputs[i.name]]) for i in session.get_inputs()}",
)
LABELS = "labels = list(json.load(open(f'{folder}/config.json'))['id2label'].values())"


def _onnx_windows(task: AggregatingTask, example: Example) -> list[str]:
    """Lines that set `logits`, pooled over the windows of a text."""
    texts, overlap, lines = _texts(task, example), "", list[str]()
    if "pair" in task.info.reads:
        lines = [
            "tokenizer.no_truncation()",
            f"texts = {texts}",
            "special = tokenizer.num_special_tokens_to_add(True)",
            *_pair_overlap(task, "len(tokenizer.encode(one, add_special_tokens=False))"),
        ]
        texts, overlap = "*texts", "overlap"
    overlap = overlap or str(_overlap(task.window_length - 2, task.doc_stride))
    strategy = ", strategy=cut" if lines else ""
    pooled = {
        "mean": "numpy.mean(outputs, 0)",
        "max": "numpy.max(outputs, 0)",
        "first": "outputs[0]",
        "attention": "weights / weights.sum() @ numpy.array(outputs)",
    }[task.aggregate]
    is_weighted = task.aggregate == "attention"
    return [
        *lines,
        f"tokenizer.enable_truncation({task.window_length}, stride={overlap}{strategy})",
        f"first = tokenizer.encode({texts})",
        "outputs, scores = [], []" if is_weighted else "outputs = []",
        "for encoded in (first, *first.overflowing):  # each window",
        *(f"    {line}" for line in INPUTS),
        "    run = session.run(None, inputs)",
        "    outputs.append(run[0][0])",
        *(["    scores.append(run[1][0, 0])"] if is_weighted else []),
        *(["weights = numpy.exp(numpy.array(scores) - max(scores))"] if is_weighted else []),
        f"logits = {pooled}",
    ]


def _onnx_sequence(task: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    if (windows := windowed(task)) is not None:
        lines = [*_row(example), *_onnx_windows(windows, example), *_scale_lines(settings)]
    else:
        lines = [
            *_row(example),
            f"encoded = tokenizer.encode({_texts(task, example)})",
            *INPUTS,
            f"logits = session.run(None, inputs)[0][0]{_divisor(settings)}",
        ]
    if get_head(task.kind).outputs == 1:
        is_sigmoid = settings.activation == "sigmoid"
        number = "1 / (1 + numpy.exp(-logits[0]))" if is_sigmoid else "logits[0]"
        return [*lines, f"print(float({number}))"]
    probabilities = "1 / (1 + numpy.exp(-logits))"
    if not get_head(task.kind).is_multi_label:
        lines.append("probs = numpy.exp(logits - logits.max())")
        probabilities = "probs / probs.sum()"
    lines += [LABELS, f"probs = dict(zip(labels, ({probabilities}).tolist()))"]
    return lines + _print_lines(task, settings)


def _onnx_tokens(task: TaskSpec, example: Example, _: PredictionSettings) -> list[str]:
    if isinstance(task, SpanClassification):
        return [
            *_words(example),
            "encoded = tokenizer.encode(words, is_pretokenized=True)",
            *INPUTS,
            "outputs = session.run(None, inputs)[0][0]",
            LABELS,
            "owners, names = encoded.word_ids, labels",
            *_labelled_spans(task),
        ]
    if reads_windows(task):
        overlap = _overlap(task.window_length - 2, task.doc_stride)
        return [
            LABELS,
            f"tokenizer.enable_truncation({task.window_length}, stride={overlap})",
            f"first, best = tokenizer.encode({example.passage!r}), {{}}",
            "for n, encoded in enumerate([first, *first.overflowing]):  # each window",
            *(f"    {line}" for line in INPUTS),
            *_windows_of_tokens(
                task,
                "session.run(None, inputs)[0][0].argmax(-1).tolist()",
                "encoded.tokens",
                "labels[tag]",
            ),
        ]
    return [
        f"encoded = tokenizer.encode({example.passage!r})",
        *INPUTS,
        "best = session.run(None, inputs)[0][0].argmax(-1)",
        LABELS,
        "print([(token, labels[n]) for token, n in zip(encoded.tokens, best)])",
    ]


def _onnx_spans(task: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"question, passage = {example.question!r}, {example.passage!r}",
        "tokens = tokenizer.encode(question, add_special_tokens=False)",
        *_cut_question(task, "tokens.offsets", "length"),
        "tokenizer.enable_truncation(length, strategy='only_second')",
        "encoded = tokenizer.encode(question, passage)",
        *INPUTS,
        "starts, ends = (one[0].tolist() for one in session.run(None, inputs)[:2])",
        "offsets = encoded.offsets",
        "inside = [n for n, part in enumerate(encoded.sequence_ids) if part == 1]",
        *_best_span(task, settings),
    ]


def _onnx_choices(_: TaskSpec, example: Example, settings: PredictionSettings) -> list[str]:
    return [
        f"choices = {list(example.choices)!r}",
        "tokenizer.enable_padding()",
        f"encoded = tokenizer.encode_batch([({example.text!r}, choice) for choice in choices])",
        "inputs = {'input_ids': [e.ids for e in encoded],",
        "          'attention_mask': [e.attention_mask for e in encoded],",
        "          'token_type_ids': [e.type_ids for e in encoded]}",
        "inputs = {i.name: numpy.array([inputs[i.name]]) for i in session.get_inputs()}",
        f"logits = session.run(None, inputs)[0][0]{_divisor(settings)}",
        "probs = numpy.exp(logits - logits.max())",
        "probs = (probs / probs.sum()).tolist()",
        "print(dict(zip(choices, probs)))",
        *_unsure_lines("max(probs)", settings),
    ]


def _onnx_sentences(task: TaskSpec, example: Example, _: PredictionSettings) -> list[str]:
    if (windows := windowed(task)) is not None:
        pooled = {"max": "numpy.max(outputs, 0)", "first": "outputs[0]"}
        overlap = _overlap(windows.window_length - 2, windows.doc_stride)
        return [
            "stated = json.load(open(f'{folder}/config_sentence_transformers.json'))",
            "prompt = stated['prompts'].get(stated['default_prompt_name'], '')",
            f"tokenizer.enable_truncation({windows.window_length}, stride={overlap})",
            "vectors = []",
            f"for text in ({example.text!r}, {example.pair!r}):",
            "    first, outputs = tokenizer.encode(prompt + text), []",
            "    for encoded in (first, *first.overflowing):  # each window",
            *(f"        {line}" for line in INPUTS),
            "        outputs.append(session.run(None, inputs)[0][0])",
            f"    vector = {pooled.get(windows.aggregate, 'numpy.mean(outputs, 0)')}",
            "    vectors.append(vector / numpy.linalg.norm(vector))",
            "print(float(vectors[0] @ vectors[1]))",
        ]
    return [
        "stated = json.load(open(f'{folder}/config_sentence_transformers.json'))",
        "prompt = stated['prompts'].get(stated['default_prompt_name'], '')",
        "vectors = []",
        f"for text in ({example.text!r}, {example.pair!r}):",
        "    encoded = tokenizer.encode(prompt + text)",
        *(f"    {line}" for line in INPUTS),
        "    vector = session.run(None, inputs)[0][0]",
        "    vectors.append(vector / numpy.linalg.norm(vector))",
        "print(float(vectors[0] @ vectors[1]))",
    ]


Lines = Callable[[TaskSpec, Example, PredictionSettings], list[str]]
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
    ENCODER: _onnx_sentences,
}
