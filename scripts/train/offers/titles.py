"""Trains the encoder to match titles with their bodies: the first step of tuning for offers. See ../README.md.

    titles.py BASE WORK    reads WORK/titles.json, writes WORK/titles.pt
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional

from net import OfferNet, float_weights

PASSES, BATCH, RATE, SCALE_RATE, DECAY, WARM_UP, UNREAD = 2, 384, 5e-5, 3e-3, 0.01, 0.1, 0.1
STEEPEST = 4.6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    chance = np.random.default_rng(1)
    pairs = json.loads((options.work / "titles.json").read_text())
    net = OfferNet(float_weights(onnx.load(options.base / "model.onnx"))).train()
    scale = nn.Parameter(torch.tensor(3.0))
    layers = [p for layer in net.encoder.layers for p in layer.parameters()]
    optimizer = torch.optim.AdamW([
        {"params": layers, "lr": RATE, "weight_decay": DECAY},
        {"params": [scale], "lr": SCALE_RATE, "weight_decay": 0.0},
    ])
    rates = [group["lr"] for group in optimizer.param_groups]
    steps = PASSES * (len(pairs) // BATCH)
    order = np.concatenate([chance.permutation(len(pairs))[: len(pairs) // BATCH * BATCH] for _ in range(PASSES)])
    for step, places in enumerate(order.reshape(steps, BATCH)):
        pace = min(1, (step + 1) / (WARM_UP * steps)) * max(0.02, (steps - step) / steps)
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * pace
        titles, bodies = (net.texts([pairs[i][name] for i in places], UNREAD) for name in ("title", "body"))
        likeness = scale.clamp(0, STEEPEST).exp() * titles @ bodies.T
        own = torch.arange(BATCH)
        loss = functional.cross_entropy(likeness, own) + functional.cross_entropy(likeness.T, own)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(layers, 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)
    torch.save(net.encoder.state_dict(), options.work / "titles.pt")


if __name__ == "__main__":
    main()
