"""A network from a quantised file, to go on training from: the shipped model is the only copy of itself in the repository.

python -m training.restore --model src/director_ai/nli/models/entailer --base BASE --out build/shipped
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertForSequenceClassification

from training.network import save_network

PREFIX = "network."


def weights(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Every parameter by its name in the network, int8 ones multiplied out."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    users = {name: node for node in model.graph.node for name in node.input}
    found = {name.removeprefix(PREFIX): value for name, value in stored.items() if name.startswith(PREFIX)}
    for node in model.graph.node:
        if node.op_type in {"MatMulInteger", "MatMulIntegerToFloat"}:
            name = _bias_after(node, users, stored).removeprefix(PREFIX).removesuffix("bias") + "weight"
            found[name] = _multiplied_out(node.input[1], stored).T
    for name in [name for name in found if name.endswith("weight_quantized")]:
        plain = name.removesuffix("_quantized")
        if plain not in found:  # embeddings
            found[plain] = _multiplied_out(PREFIX + name, stored)
    return {name: value for name, value in found.items() if name.endswith(("weight", "bias"))}


def _bias_after(node: onnx.NodeProto, users: dict[str, onnx.NodeProto], stored: dict[str, np.ndarray]) -> str:
    """The bias that is added to a product: it alone keeps the layer's name."""
    while node.op_type != "Add":
        node = users[node.output[0]]
    return next(name for name in node.input if name in stored)


def _multiplied_out(quantised: str, stored: dict[str, np.ndarray]) -> np.ndarray:
    name = quantised.removesuffix("_quantized")
    zero, scale = stored[f"{name}_zero_point"], stored[f"{name}_scale"]
    return (stored[quantised].astype(np.float32) - zero.astype(np.float32)) * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the package's folder, or a .pt of training.finetune")
    parser.add_argument(
        "--base", type=Path, required=True, help="configuration and tokenizer of a network of the same shape"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    network = BertForSequenceClassification(BertConfig.from_pretrained(arguments.base, num_labels=3))
    if arguments.model.suffix == ".pt":
        state = {name: value.float() for name, value in torch.load(arguments.model).items()}
    else:
        stored = weights(onnx.load(arguments.model / "model.onnx"))
        state = {name: torch.tensor(value) for name, value in stored.items()}
    network.load_state_dict(state, strict=True)
    save_network(network, arguments.base, arguments.out)


if __name__ == "__main__":
    main()
