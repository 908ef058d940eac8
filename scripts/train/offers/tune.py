"""Trains an encoder to match the needs of posts' authors with offers. See ../README.md.

    tune.py BASE WORK --hold 0       without fold 0 of posts and sellers
    tune.py BASE WORK --hold none    with all of them

Starts from WORK/titles.pt (titles.py). Tunes six times, with different seeds and settings, and keeps the mean of the weights, mixed with
one fifth of the initial ones.
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional

from net import OfferNet, float_weights

HEAD_RATE, DECAY, WARM_UP = 3e-3, 0.01, 0.1
WISHES, COLD, HARD = 32, 14, 10
"""Posts per batch: with a need, without one, and written as non-matches of their offer."""


class Run(NamedTuple):
    passes: float = 4
    rate: float = 1e-4
    dropout: float = 0.0
    as_wish: float = 0.1
    """The share of posts that are replaced by the need as written by a reader."""
    near: float = 0.0
    """The weight of the loss that ranks a post's matching offers above those written as non-matches."""


RUNS = (Run(), Run(), Run(passes=3, rate=7e-5), Run(passes=5, rate=7e-5, dropout=0.1), Run(as_wish=0.3), Run(near=0.3))
AS_IT_BEGAN = 0.2
SELLERS = 90
"""Sellers of the catalogue with which a batch's posts are compared, besides the offers written for them."""
UNREAD = 0.1
"""The share of a text that is dropped at random."""
NOISE, STEP = 2, 24


class Data:
    def __init__(self, start, hold):
        self.offers, self.known = start["offers"], len(start["keys"])
        self.held = {i for i, fold in enumerate(start["folds"]) if fold == hold}
        self.sellers = [i for i in range(self.known) if i not in self.held]
        rows = [row for row in start["rows"] if row["fold"] != hold]
        for row in rows:
            row["fits"] = {place for place, _ in row["for"]} | set(row["own"])
        self.wishes = [row for row in rows if row["buying"] != "cold"]
        self.hard = [row for row in rows if row["buying"] == "cold" and row["isWritten"]]
        self.cold = [row for row in rows if row["buying"] == "cold" and not row["isWritten"]]

    def batches(self, chance, count):
        queue = []
        for _ in range(count):
            if len(queue) == 0:
                chance.shuffle(self.wishes)
                near = sorted(self.wishes, key=lambda row: len(row["tokens"]) // STEP + chance.random() * NOISE)
                queue = [near[i : i + WISHES] for i in range(0, len(near) - WISHES + 1, WISHES)]
                chance.shuffle(queue)
            wishes = queue.pop()
            longest = max(len(row["tokens"]) for row in wishes) + 8
            short = lambda rows, most: [
                row for row in chance.sample(rows, min(6 * most, len(rows))) if len(row["tokens"]) <= longest
            ][:most]
            yield wishes, short(self.cold, COLD), short(self.hard, HARD)

    def places(self, rows, chance):
        """The offers with which a batch's posts are compared."""
        places = set(chance.sample(self.sellers, min(SELLERS, len(self.sellers))))
        for row in rows:
            places |= {i for i in row["fits"] if i not in self.held} | set(row["against"])
        return sorted(places)


def contrast(logits, fits):
    """The contrastive loss: posts are most similar to their matching offers in the batch, and offers to their posts."""
    loss = 0
    for axis, share in ((1, 1.0), (0, 0.5)):
        against = torch.logsumexp(logits.masked_fill(fits > 0, -1e4), axis, keepdim=True)
        loss = loss + share * (functional.softplus(against - logits) * fits).sum() / fits.sum()
    return loss


def loss_of(net, data, batch, run, chance):
    wishes, cold, hard = batch
    rows = wishes + cold + hard
    places = data.places(rows, chance)
    as_wish = [bool(row["wants"]) and chance.random() < run.as_wish for row in rows]
    texts = [row["wants"] if short else row["tokens"] for row, short in zip(rows, as_wish)]
    lengths = [[len(row["wants"]) - 2] if short else row["lengths"] for row, short in zip(rows, as_wish)]
    posts = net.posts(texts, lengths, UNREAD)
    offers = net.texts([data.offers[i] for i in places], UNREAD / 2)
    whole = posts[0] @ offers.T
    both = net.whole.exp() * whole + net.sentence.exp() * net.likest(posts, offers)

    fits = torch.tensor([[float(i in row["fits"]) for i in places] for row in rows])
    near = torch.tensor([[i in row["against"] for i in places] for row in rows])
    catalogue = torch.tensor([i < data.known for i in places])
    # Each post is labelled for the whole catalogue; offers written for other posts are unlabelled, and may match.
    counts = torch.where((fits > 0) | near, 2.0, torch.where(catalogue, 0.3, 0.15))
    written = torch.tensor([False] * (len(wishes) + len(cold)) + [True] * len(hard))[:, None]
    counts = torch.where(written & ~near, 0.05, counts)
    judged = functional.binary_cross_entropy_with_logits(both + net.bias, fits, reduction="none")

    wanted = torch.tensor([[float(row["buying"] == "hot"), float(row["buying"] != "cold")] for row in rows])
    sure = torch.tensor([0.0 if row["isWritten"] and row["buying"] == "cold" else 1.0 if row["sure"] else 0.5 for row in rows])
    intent = functional.binary_cross_entropy_with_logits(net.intent(posts[0] * 6), wanted, reduction="none")
    n = len(wishes)
    against = torch.logsumexp(both[:n].masked_fill(~near[:n], -1e4), 1, keepdim=True)
    wrong = functional.softplus(against - both[:n]) * fits[:n] * near[:n].any(1, keepdim=True)
    return (
        contrast(both[:n], fits[:n])
        + run.near * wrong.sum() / fits[:n].sum()
        + 0.4 * contrast(net.alone.clamp(0, 4).exp() * whole[:n], fits[:n])
        + 0.7 * (intent.mean(1) * sure).mean()
        + 2 / 3 * (judged * counts).sum() / fits.sum()
    )


def tune(net, data, run, seed):
    chance = random.Random(seed)
    layers = [p for layer in net.encoder.layers for p in layer.parameters()]
    heads = [net.whole, net.sentence, net.alone, net.bias, *net.intent.parameters()]
    optimizer = torch.optim.AdamW([
        {"params": layers, "lr": run.rate, "weight_decay": DECAY},
        {"params": heads, "lr": HEAD_RATE, "weight_decay": 0.0},
    ])
    rates = [group["lr"] for group in optimizer.param_groups]
    steps, began, losses = int(len(data.wishes) // WISHES * run.passes), time.time(), []
    for step, batch in enumerate(data.batches(chance, steps)):
        pace = min(1, (step + 1) / (WARM_UP * steps)) * max(0.02, (steps - step) / steps)
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * pace
        loss = loss_of(net, data, batch, run, chance)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(layers, 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1} of {steps}: loss {np.mean(losses[-10:]):.3f}, {time.time() - began:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--hold", required=True, help="a fold, or none")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    hold = -2 if options.hold == "none" else int(options.hold)
    data = Data(json.loads((options.work / "offers.json").read_text()), hold)
    print(f"{len(data.wishes)} needs, {len(data.cold)} cold, {len(data.hard)} written as non-matches", flush=True)
    weights, began = float_weights(onnx.load(options.base / "model.onnx")), torch.load(options.work / "titles.pt")
    total = {name: torch.zeros_like(value) for name, value in began.items()}
    for seed, run in enumerate(RUNS, 1):
        torch.manual_seed(seed)
        net = OfferNet(weights, run.dropout).train()
        net.encoder.load_state_dict(began)
        tune(net, data, run, seed)
        for name, value in net.encoder.state_dict().items():
            total[name] += value / len(RUNS)
    mean = {name: (1 - AS_IT_BEGAN) * value + AS_IT_BEGAN * began[name] for name, value in total.items()}
    torch.save(mean, options.work / f"offers-{options.hold}.pt")


if __name__ == "__main__":
    main()
