"""Networks as ONNX graphs, for programs without torch.

Inputs and outputs have the names of transformers, and dynamic batch size and length. A network
without segments, as in some families, has no input for them.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from engine.export.reloading import GRAPH
from engine.export.running import INPUTS
from engine.models.network import Network
from engine.models.outputs import head_outputs, named_outputs

OPSET = 18  # of the operators; supported by runtimes since 2023
MAX_BYTES = 1_900_000_000  # bytes of weights in one file: the limit of protobuf is 2 GiB


class NamedOutputs(nn.Module):
    """A network with the inputs and outputs of transformers."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        outputs = named_outputs(self.network, input_ids, token_type_ids, attention_mask > 0)
        return tuple(outputs.values())


def write_graph(folder: Path, network: Network) -> None:
    """Write model.onnx in float32; weights too large for one file go to model.onnx.data."""
    chooses = network.heads.scores_choices
    axes = ["batch", *(["endings"] if chooses else []), "length"]
    shape = [2, *([3] if chooses else []), min(8, network.spec.max_positions)]
    ids = torch.ones(shape, dtype=torch.int64)
    inputs = INPUTS if network.spec.segment_rows > 1 else INPUTS[:2]
    dynamic = {number: torch.export.Dim(axis) for number, axis in enumerate(axes)}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns about optional libraries
    with torch.no_grad(), _readable_flags(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations within torch
        program = torch.onnx.export(
            NamedOutputs(network),
            (ids, torch.ones_like(ids), torch.zeros_like(ids))[: len(inputs)],
            input_names=inputs,
            output_names=[output.name for output in head_outputs(network.heads)],
            dynamic_shapes=(dynamic,) * len(inputs),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # source lines of this program, with folders of this machine
    size = sum(4 * parameter.numel() for parameter in network.parameters())
    program.save(folder / GRAPH, external_data=size > MAX_BYTES)


@contextmanager
def _readable_flags() -> Iterator[None]:
    """Let torch.export read its TF32 flag, which fails if training has turned it off in this
    process; no effect on the CPU."""
    before = torch.backends.fp32_precision  # type: ignore[attr-defined]
    torch.backends.fp32_precision = "none"  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.backends.fp32_precision = before  # type: ignore[attr-defined]


def quantise(source: Path, target: Path) -> None:
    """Quantise the weights of the graph in the folder `source` to 8 bits, and write it to `target`.

    Each row of a matrix has a scale, and so has each embedding table; activations are rounded to 8
    bits at run time (“dynamic quantisation”).
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    model = onnx.load(source / GRAPH)
    del model.graph.value_info[:]  # torch has transposed some weights without updating their shapes
    is_large = (source / f"{GRAPH}.data").exists()
    add_pre_process_metadata(model)  # torch has already folded constants and inferred shapes
    quantize_dynamic(
        model,
        target / GRAPH,
        per_channel=True,
        weight_type=QuantType.QInt8,
        use_external_data_format=is_large,
    )
