"""Fine-tunes the encoder's layers, together with the weights of its output. See ../README.md.

    tune.py BASE WORK             all parts, then tuned.json and model.onnx; if folds are missing, they are evaluated on the others
    tune.py BASE WORK --only 1,2  only these parts, for several processes in parallel

Each part is tuned with several seeds, and the mean of their weights is kept: they start alike and end near each other, and on
held-out posts their mean is better than any of them.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional

from model import WIDTH, Encoder, float_weights
from quantize import encode_int8, write_model

SEEDS = (1, 2, 3)
PASSES, BATCH = 3, 32
RATE, HEAD_RATE, KIND_RATE = 1e-4, 2e-3, 2e-2
DECAY, DROPOUT, WARM_UP = 0.01, 0.1, 0.1
UNREAD = 0.1
"""The share of a text's tokens that is dropped at random, so that no single word decides."""
KIND_SHARE = 0.3
"""The weight of the auxiliary task, the kind of a post (buyer, seller, news ...)."""
SPAN = 8.0
"""Batches contain texts of similar lengths: texts are sorted by length, plus this many tokens of noise."""
CALIBRATION = 500
"""The number of texts for calibration."""
QUESTIONS = ("hot", "warm")


class Rows:
    def __init__(self, start):
        rows = start["rows"]
        self.tokens, self.count = [row["tokens"] for row in rows], len(rows)
        self.answers = torch.tensor([row["answers"] for row in rows]).float()
        self.counts = torch.tensor([row["counts"] for row in rows]).float()
        kinds = sorted({row["kind"] for row in rows if row["kind"]})
        self.kinds = len(kinds)
        self.kind = torch.tensor([kinds.index(row["kind"]) if row["kind"] else -1 for row in rows])
        self.share = torch.tensor([row["share"] for row in rows])

    def batch(self, places):
        width = max(len(self.tokens[i]) for i in places)
        ids = torch.zeros(len(places), width, dtype=torch.long)
        mask = torch.zeros(len(places), 1, 1, width, dtype=torch.bool)
        for j, i in enumerate(places):
            ids[j, : len(self.tokens[i])] = torch.tensor(self.tokens[i])
            mask[j, 0, 0, : len(self.tokens[i])] = True
        return ids, mask


def numbers_of(encoder, ids, mask):
    """Layers in bfloat16, which takes three fifths of the time with the same figures; the rest in float32."""
    with torch.no_grad():
        embedded = encoder.embed(ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = encoder.run(embedded, mask)
    return encoder.pool(x.float(), mask)


def encode(encoder, rows):
    """The embeddings of all rows."""
    encoder.eval()
    numbers = np.zeros((rows.count, WIDTH), np.float32)
    order = sorted(range(rows.count), key=lambda i: len(rows.tokens[i]))
    with torch.no_grad():
        for start in range(0, rows.count, 64):
            places = order[start : start + 64]
            numbers[places] = numbers_of(encoder, *rows.batch(places)).numpy()
    return numbers


def tune(weights, rows, part, inside, tag):
    """The mean of encoders trained on the rows `inside`, and of the weights of their output."""
    tuned = [tune_once(weights, rows, part, inside, seed, f"{tag}, seed {seed}") for seed in SEEDS]
    mean = lambda values: sum(values) / len(SEEDS)
    states = [encoder.state_dict() for encoder, _, _ in tuned]
    encoder = tuned[0][0]
    encoder.load_state_dict({name: mean([state[name] for state in states]) for name in states[0]})
    return encoder, mean([head for _, head, _ in tuned]), mean([bias for _, _, bias in tuned])


def tune_once(weights, rows, part, inside, seed, tag):
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    encoder = Encoder(weights, DROPOUT).train()
    named = torch.tensor(np.stack([part[q]["odds"] for q in QUESTIONS], 1)).float()
    head = nn.Parameter(torch.tensor(np.stack([part[q]["head"] for q in QUESTIONS], 1)).float())
    bias = nn.Parameter(torch.zeros(2))
    kind = nn.Linear(WIDTH, rows.kinds)
    nn.init.zeros_(kind.weight)
    layers = [p for layer in encoder.layers for p in layer.parameters()]
    groups = [
        {"params": layers, "lr": RATE, "weight_decay": DECAY},
        {"params": [head, bias], "lr": HEAD_RATE, "weight_decay": 0.0},
        {"params": list(kind.parameters()), "lr": KIND_RATE, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    rates = [group["lr"] for group in groups]
    lengths = np.array([len(x) for x in rows.tokens])
    began, losses = time.time(), []
    for turn in range(PASSES):
        places = inside[random.random(len(inside)) < rows.share.numpy()[inside]]
        places = places[np.argsort(lengths[places] + random.normal(0, SPAN, len(places)))]
        batches = [places[i : i + BATCH] for i in range(0, len(places), BATCH)]
        steps = len(batches) * PASSES
        for number, which in enumerate(random.permutation(len(batches))):
            step, chosen = turn * len(batches) + number, batches[which]
            pace = min(1, (step + 1) / (WARM_UP * steps)) * (steps - step) / steps
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * pace
            ids, mask = rows.batch(chosen)
            read = torch.rand(mask.shape) >= UNREAD
            read[..., 0] = True
            numbers = numbers_of(encoder, ids, mask & read)
            odds = named[chosen] + numbers @ head + bias
            count = rows.counts[chosen] / rows.share[chosen][:, None]
            asked = functional.binary_cross_entropy_with_logits(odds, rows.answers[chosen], reduction="none")
            loss = (count * asked).sum() / len(chosen)
            losses.append(loss.item())
            told = rows.kind[chosen]
            if (told >= 0).any():
                loss = loss + KIND_SHARE * functional.cross_entropy(kind(numbers * 6), told, ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(layers, 1.0)
            optimizer.step()
        print(f"{tag}: pass {turn + 1}, loss {np.mean(losses[-100:]):.3f}, {time.time() - began:.0f} s", flush=True)
    return encoder, head.detach().numpy(), bias.detach().numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    base = options.base / "model.onnx"
    start = json.loads((options.work / "start.json").read_text())
    weights = float_weights(onnx.load(base))
    rows = Rows(start)
    for number, part in enumerate(start["parts"]):
        if options.only is not None and number not in options.only:
            continue
        whole = part["seed"] is None
        outside = np.zeros(rows.count, bool)
        if not whole:
            outside = np.array(start["folds"][str(part["seed"])]) == part["fold"]
        encoder, head, bias = tune(weights, rows, part, np.where(~outside)[0], f"part {number}")
        shares = encode(encoder, rows) @ head + bias
        if whole:
            bias = bias + write_whole(base, encoder, start["rows"], head, shares - bias, options.work / "model.onnx")
        np.savez(options.work / f"part-{number}.npz", shares=shares, outside=outside, head=head, bias=bias)
    files = {number: options.work / f"part-{number}.npz" for number in range(len(start["parts"]))}
    known = {number: np.load(file) for number, file in files.items() if file.exists()}
    if 0 in known and len(known) > 1:
        (options.work / "tuned.json").write_text(json.dumps(join(start, known)))


def write_whole(base, encoder, rows, head, shares, file):
    """Writes the model to ship. Returns the mean decrease of its share of the log-odds from quantization."""
    texts = [row["tokens"] for row in rows]
    chosen = np.random.default_rng(0).permutation(len(texts))[:CALIBRATION]
    write_model(base, encoder, [texts[i] for i in chosen], file)
    got = encode_int8(file, texts) @ head
    for k, question in enumerate(QUESTIONS):
        likeness = np.corrcoef(got[:, k], shares[:, k])[0, 1]
        print(f"{question}: int8 and float correlation {likeness:.4f}", flush=True)
    return (shares - got).mean(0)


def join(start, parts):
    """The format of scripts/train/tuned.ts; `parts` by number: part 0 and those of some folds."""
    count = len(start["rows"])
    whole, tuned = parts[0], {}
    rows = sorted({int(i) for number, got in parts.items() if number > 0 for i in np.where(got["outside"])[0]})
    validated = {"rows": rows, "odds": {}, "shares": {}}
    for k, question in enumerate(QUESTIONS):
        bias = float(whole["bias"][k])
        shares = (whole["shares"][:, k] - bias).tolist()
        named = start["parts"][0][question]["named"]
        tuned[question] = {"head": whole["head"][:, k].tolist(), "bias": bias, "shares": shares, "named": named}
        odds, kept = [0.0] * count, [0.0] * count
        for number, got in parts.items():
            part = start["parts"][number]
            for i in np.where(got["outside"])[0] if number > 0 else []:
                odds[i] = float(part[question]["odds"][i] + got["shares"][i, k])
                kept[i] = float(got["shares"][i, k])
        validated["odds"][question], validated["shares"][question] = odds, kept
    return {**tuned, "validated": validated}


if __name__ == "__main__":
    main()
