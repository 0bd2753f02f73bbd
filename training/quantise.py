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
    pairs change a score (0.03 on a network with outlier channels). With a scale per token they do not, at the same speed.
    """
    constants = {
        "inverse": np.float32(1 / 127),
        "least": np.float32(1e-10),
        "middle": np.float32(128),
        "zero": np.uint8(128),
    }
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), f"per_token_{name}"))
    scales = {node.output[1] for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"}
    products = {node.output[0]: node for node in model.graph.node if node.op_type == "Mul" and scales & set(node.input)}
    made: list[onnx.NodeProto] = []
    for node in model.graph.node:
        product = next((products[name] for name in node.input if name in products), None)
        if node.op_type == "DynamicQuantizeLinear":
            made += _quantise_rows(node.input[0], *node.output)
        elif product is not None and node.op_type == "Mul":
            # Apart, since onnxruntime would fuse their product with the matrix product and take its first element for all.
            plain = next(name for name in node.input if name not in products)
            of_tokens, of_channels = sorted(product.input, key=lambda name: name not in scales)
            made.append(helper.make_node("Mul", [plain, of_tokens], [f"{node.output[0]}_by_token"]))
            made.append(helper.make_node("Mul", [f"{node.output[0]}_by_token", of_channels], node.output))
        elif node.output[0] not in products:
            made.append(node)
    del model.graph.node[:]
    model.graph.node.extend(made)
    return model


def _quantise_rows(source: str, quantised: str, scale: str, zero: str) -> list[onnx.NodeProto]:
    step = helper.make_node
    return [
        step("Abs", [source], [f"{quantised}_size"]),
        step("ReduceMax", [f"{quantised}_size"], [f"{quantised}_largest"], axes=[-1], keepdims=1),
        step("Max", [f"{quantised}_largest", "per_token_least"], [f"{quantised}_bounded"]),
        step("Mul", [f"{quantised}_bounded", "per_token_inverse"], [scale]),
        step("Div", [source, scale], [f"{quantised}_steps"]),
        step("Add", [f"{quantised}_steps", "per_token_middle"], [f"{quantised}_shifted"]),
        step("Round", [f"{quantised}_shifted"], [f"{quantised}_whole"]),
        step("Cast", [f"{quantised}_whole"], [quantised], to=onnx.TensorProto.UINT8),
        step("Identity", ["per_token_zero"], [zero]),
    ]


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
