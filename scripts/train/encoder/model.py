"""The sentence encoder's layers as PyTorch modules, read from its int8 ONNX file."""

import numpy as np
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS = 6, 384, 12


def float_weights(model):
    """Initializers as float32: int8 and uint8 are dequantized."""
    raw = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    weights = {}
    for name, values in raw.items():
        if name.endswith("_quantized"):
            base = name.removesuffix("_quantized")
            shifted = values.astype(np.float32) - raw[base + "_zero_point"].astype(np.float32)
            weights[base] = torch.tensor(shifted * raw[base + "_scale"])
        elif values.dtype == np.float32 and values.size > 1 and not name.endswith("_scale"):
            weights[name] = torch.tensor(values)
    return weights


class Layer(nn.Module):
    """One layer of BERT (Devlin et al., 2018), with post-normalization."""

    LINEARS = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "joined": "attention.output.dense",
        "wide": "intermediate.dense",
        "narrow": "output.dense",
    }
    NORMS = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}

    def __init__(self, weights, number, dropout):
        super().__init__()
        prefix = f"encoder.layer.{number}."
        for own, name in self.LINEARS.items():
            kernel = weights[prefix + name + ".w"]
            linear = nn.Linear(*kernel.shape)
            linear.weight.data = kernel.T.contiguous().clone()
            linear.bias.data = weights[prefix + name + ".b"].clone()
            setattr(self, own, linear)
        for own, name in self.NORMS.items():
            norm = nn.LayerNorm(WIDTH, eps=1e-12)
            norm.weight.data = weights[prefix + name + ".g"].clone()
            norm.bias.data = weights[prefix + name + ".be"].clone()
            setattr(self, own, norm)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        batch, tokens, _ = x.shape
        split = lambda t: t.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
        likeness = (split(self.query(x)) @ split(self.key(x)).transpose(-1, -2)).float() / (WIDTH // HEADS) ** 0.5
        shares = self.dropout(torch.softmax(likeness.masked_fill(~mask, -1e4), -1))
        attended = shares.to(x.dtype) @ split(self.value(x)).to(x.dtype)
        attended = attended.transpose(1, 2).reshape(batch, tokens, WIDTH)
        x = self.norm1(x + self.dropout(self.joined(attended)))
        return self.norm2(x + self.dropout(self.narrow(functional.gelu(self.wide(x)))))


class Encoder(nn.Module):
    def __init__(self, weights, dropout=0.0):
        super().__init__()
        self.words, self.places, self.kind = (weights[name] for name in ("wte", "wpe", "tte"))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.norm.weight.data = weights["embeddings.LayerNorm.g"].clone()
        self.norm.bias.data = weights["embeddings.LayerNorm.be"].clone()
        self.layers = nn.ModuleList(Layer(weights, number, dropout) for number in range(LAYERS))

    def embed(self, ids):
        return self.norm(self.words[ids] + self.places[: ids.shape[1]] + self.kind)

    def run(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return x

    @staticmethod
    def pool(x, mask):
        """The mean of the tokens, normalized to length 1, as used by the product."""
        present = mask[:, 0, 0, :, None].float()
        return functional.normalize((x * present).sum(1) / present.sum(1), dim=-1)
