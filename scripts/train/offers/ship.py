"""Writes a tuned encoder for offers in the product's format: ship.py BASE WORK WEIGHTS FILE. See ../README.md."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import torch

from net import OfferNet, float_weights
from quantize import encode_int8, write_model

CALIBRATION, TRIED = 250, 100


def main():
    base, work, weights, file = map(Path, sys.argv[1:5])
    start = json.loads((work / "offers.json").read_text())
    net = OfferNet(float_weights(onnx.load(base / "model.onnx"))).eval()
    net.encoder.load_state_dict(torch.load(weights))
    texts = [row["tokens"] for row in start["rows"]] + start["offers"]
    chosen = np.random.default_rng(0).permutation(len(texts))
    tried = [texts[i] for i in chosen[-TRIED:]]
    with torch.no_grad():
        exact = np.concatenate([net.texts([text]).numpy() for text in tried])
    write_model(base / "model.onnx", net.encoder, [texts[i] for i in chosen[:CALIBRATION]], file)
    likeness = (exact * encode_int8(file, tried)).sum(1)
    print(f"cosine of int8 and float: {likeness.mean():.4f}, minimum {likeness.min():.4f}")


if __name__ == "__main__":
    main()
