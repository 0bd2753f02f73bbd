"""Step 4, quantise: a network becomes an int8 ONNX file of about a quarter of its size.

python -m training.quantise --model build/student --out build/student-int8
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.network import load_network

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FUSED = "com.microsoft"
"""Operators of onnxruntime itself."""


class Logits(torch.nn.Module):
    """The network with the three inputs and the one output that the package uses."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        return self.network(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


def export(model: Path, path: Path) -> None:
    """Write the network as it is, in single precision."""
    network = load_network(model).cpu().float().eval()
    network.config._attn_implementation = "eager"  # plain matrix products, which the quantiser knows
    sample = torch.ones((2, 16), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {"logits": {0: "batch"}}
    torch.onnx.export(
        Logits(network), (sample, sample, torch.zeros_like(sample)), str(path), input_names=list(INPUTS),
        output_names=["logits"], dynamic_axes=axes, opset_version=17, dynamo=False,
    )  # fmt: skip


def quantise(source: Path, target: Path) -> None:
    """Weights to int8, one scale per channel; activations are scaled at run time, token by token."""
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8, per_channel=True, reduce_range=False)
    onnx.save(per_token(onnx.load(str(target))), str(target))
    onnx.checker.check_model(str(target))


def per_token(model: onnx.ModelProto) -> onnx.ModelProto:
    """Scale activations token by token instead of over the whole batch.

    The operator that `quantize_dynamic` puts in takes one scale for everything in a batch, so that padding and the other
    pairs change a score (0.17 on the bundled model). Here each token is divided by its largest value before it is rounded
    with a fixed step, and its product is multiplied by that value: the product itself stays one fused operator.
    """
    graph = model.graph
    for name, value in {"step": np.float32(1 / 127), "least": np.float32(1e-10), "zero": np.uint8(128)}.items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), f"per_token_{name}"))
    users = {name: node for node in graph.node for name in node.input}
    largest = {node.output[1] for node in graph.node if node.op_type == "DynamicQuantizeLinear"}
    scales = {node.output[0]: node for node in graph.node if node.op_type == "Mul" and largest & set(node.input)}
    made: list[onnx.NodeProto] = []
    replaced = set(scales)
    for node in graph.node:
        if node.output[0] in replaced:
            continue
        if node.op_type == "DynamicQuantizeLinear":
            made += _quantise_rows(node.input[0], *node.output[:2])
        elif node.op_type == "MatMulInteger":
            cast = users[node.output[0]]
            scaled = users[cast.output[0]]
            of_token, of_channel = sorted(scales[scaled.input[1]].input, key=lambda name: name not in largest)
            made += _scaled_product(node, of_token, of_channel, scaled.output[0])
            replaced |= {cast.output[0], scaled.output[0]}
        else:
            made.append(node)
    del graph.node[:]
    graph.node.extend(_without_slow_norms(made))
    model.opset_import.append(helper.make_opsetid(FUSED, 1))
    return model


def _quantise_rows(source: str, quantised: str, largest: str) -> list[onnx.NodeProto]:
    step = helper.make_node
    return [
        step("Abs", [source], [f"{quantised}_size"]),
        step("ReduceMax", [f"{quantised}_size"], [f"{quantised}_most"], axes=[-1], keepdims=1),
        step("Clip", [f"{quantised}_most", "per_token_least"], [largest]),
        step("Div", [source, largest], [f"{quantised}_unit"]),
        step("QuantizeLinear", [f"{quantised}_unit", "per_token_step", "per_token_zero"], [quantised]),
    ]


def _scaled_product(node: onnx.NodeProto, of_token: str, of_channel: str, output: str) -> list[onnx.NodeProto]:
    left, right, _, zero = node.input
    inputs = [left, right, "per_token_step", of_channel, "per_token_zero", zero]
    return [
        helper.make_node("MatMulIntegerToFloat", inputs, [f"{output}_unit"], domain=FUSED),
        helper.make_node("Mul", [f"{output}_unit", of_token], [output]),
    ]


def _without_slow_norms(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Add before a normalisation by another operator: what onnxruntime fuses Add and LayerNormalization into is slower."""
    makers = {node.output[0]: node for node in nodes}
    for node in nodes:
        if node.op_type == "LayerNormalization" and makers[node.input[0]].op_type == "Add":
            makers[node.input[0]].op_type = "Sum"
    return nodes


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    export(arguments.model, arguments.out / "fp32.onnx")
    quantise(arguments.out / "fp32.onnx", arguments.out / "model.onnx")
    shutil.copy(arguments.model / "tokenizer.json", arguments.out / "tokenizer.json")
    sizes = {path.name: path.stat().st_size for path in sorted(arguments.out.iterdir())}
    print(json.dumps({"bytes": sizes, "sha256": digest(arguments.out / "model.onnx")}))


if __name__ == "__main__":
    main()
