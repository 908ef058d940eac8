"""Quantizes a tuned encoder to int8.

Rounding each weight to the nearest step undoes most of the changes from tuning, which are smaller than a step. Therefore each
input's errors are compensated by the weights of inputs that are not rounded yet (GPTQ, Frantar et al., 2022). For the
encoder's share of hot, the correlation with the float model is 0.998; with plain rounding, it was 0.969.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from model import LAYERS, WIDTH, Layer

STEPS = 127
DAMPING = 0.01
SHARED_INPUTS = (("query", "key", "value"), ("joined",), ("wide",), ("narrow",))


def rounded(kernel, inputs):
    """Integer weights by input and output, and the step size by output, for `inputs` (tokens by inputs)."""
    weights = kernel.T.astype(np.float64)
    scale = np.abs(weights).max(1) / STEPS
    likeness = inputs.T.astype(np.float64) @ inputs
    likeness[np.diag_indices_from(likeness)] += DAMPING * np.diag(likeness).mean()
    order = np.argsort(-np.diag(likeness))
    weights, likeness = weights[:, order], likeness[order][:, order]
    upper = np.linalg.cholesky(np.linalg.inv(likeness)).T
    steps = np.zeros(weights.shape, np.int8)
    for i in range(len(order)):
        steps[:, order[i]] = np.round(weights[:, i] / scale).clip(-STEPS, STEPS)
        error = (weights[:, i] - steps[:, order[i]] * scale) / upper[i, i]
        weights[:, i + 1 :] -= np.outer(error, upper[i, i + 1 :])
    return steps.T, scale.astype(np.float32)


def inputs_of(layer, module, states):
    """The inputs of a layer's module for texts whose states before the layer are `states`."""
    seen = []
    hook = module.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].numpy()))
    after(layer, states)
    hook.remove()
    return np.concatenate(seen)


def after(layer, states):
    """The states of the texts after a layer."""
    with torch.no_grad():
        return [layer(x, torch.ones(1, 1, 1, x.shape[1], dtype=torch.bool)) for x in states]


def show_tokens(model):
    """Adds the embeddings of the tokens, whose mean is the embedding of the text, to the model's outputs."""
    last = f"encoder.layer.{LAYERS - 1}.output.LayerNorm.g"
    [inner] = [node.output[0] for node in model.graph.node if node.op_type == "LayerNormalization" and last in node.input]
    for node in model.graph.node:
        node.input[:] = ["tokens" if name == inner else name for name in node.input]
        node.output[:] = ["tokens" if name == inner else name for name in node.output]
    shape = ["batch", "tokens", WIDTH]
    model.graph.output.append(helper.make_tensor_value_info("tokens", TensorProto.FLOAT, shape))


def write_model(base, encoder, texts, file):
    """The base model with its layers replaced, int8 per output channel as before, and with its tokens as an output."""
    encoder.eval()
    model = onnx.load(base)
    places = {item.name: item for item in model.graph.initializer}

    def put(name, values):
        if list(places[name].dims) != list(values.shape):
            raise ValueError(f"{name}: shape {values.shape}")
        places[name].CopyFrom(numpy_helper.from_array(values, name))

    with torch.no_grad():
        states = [encoder.embed(torch.tensor([tokens])) for tokens in texts]
    for number in range(LAYERS):
        prefix, layer = f"encoder.layer.{number}.", encoder.layers[number]
        for group in SHARED_INPUTS:
            inputs = inputs_of(layer, getattr(layer, group[0]), states)
            for own in group:
                name, linear = prefix + Layer.LINEARS[own], getattr(layer, own)
                steps, scale = rounded(linear.weight.data.T.numpy(), inputs)
                linear.weight.data = torch.tensor(np.ascontiguousarray((steps * scale).T))
                put(name + ".w_quantized", np.ascontiguousarray(steps))
                put(name + ".w_scale", scale)
                put(name + ".b", linear.bias.data.numpy())
        for own, name in Layer.NORMS.items():
            norm = getattr(layer, own)
            put(prefix + name + ".g", norm.weight.data.numpy())
            put(prefix + name + ".be", norm.bias.data.numpy())
        states = after(layer, states)
    show_tokens(model)
    onnx.save(model, file)


def encode_int8(file, texts):
    """The embeddings as in the product: by its runtime, which is available for Node, but not for every Python."""
    with tempfile.TemporaryDirectory() as folder:
        tokens, numbers = Path(folder, "tokens.json"), Path(folder, "numbers.json")
        tokens.write_text(json.dumps(texts))
        script = Path(__file__).parent / "encode.ts"
        node = Path(__file__).parents[3] / "node_modules/.bin/node"
        subprocess.run([node, script, file, tokens, numbers], check=True)
        return np.array(json.loads(numbers.read_text()))
