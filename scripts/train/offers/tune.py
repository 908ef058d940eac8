"""Trains an encoder to tell what a post's author wants from what is sold. See ../README.md.

    tune.py BASE WORK --hold 0    without fold 0 of posts and sellers, then what it says of them
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(Path(__file__).parent.parent / "encoder"))
from model import WIDTH, Encoder, float_weights

PASSES, BATCH = 4, 32
RATE, HEAD_RATE, DECAY, WARM_UP = 8e-5, 2e-3, 0.01, 0.1
UNREAD = 0.1
"""So many of a text's tokens are not read, others each time: no single word is to decide."""
HEAD_SCALE = 6
SELLERS_A_BATCH = 60
COLD_A_BATCH = 10
PAIR_SHARE = 1.5
"""What reading pairs counts beside likeness."""
MOST_TOKENS = 140
UNREAD_PAIR = -6.0
SECOND_LOOKS = 5


class Data:
    def __init__(self, start):
        self.keys, self.folds, self.offers, self.rows = start["keys"], start["folds"], start["offers"], start["rows"]
        for row in self.rows:
            row["fits"] = {place for place, _ in row["for"]} | set(row["own"])

    def split(self, hold):
        held = {i for i, fold in enumerate(self.folds) if fold == hold}
        inside = [row for row in self.rows if row["fold"] != hold]
        outside = [row for row in self.rows if row["fold"] == hold]
        return held, inside, outside


def read(encoder, texts, unread=0.0):
    """The numbers of texts at length 1; layers in bfloat16."""
    width = max(map(len, texts))
    ids = torch.zeros(len(texts), width, dtype=torch.long)
    mask = torch.zeros(len(texts), 1, 1, width, dtype=torch.bool)
    for j, tokens in enumerate(texts):
        ids[j, : len(tokens)] = torch.tensor(tokens)
        mask[j, 0, 0, : len(tokens)] = True
    if unread > 0:
        kept = torch.rand(mask.shape) >= unread
        kept[..., 0] = True
        mask = mask & kept
    with torch.no_grad():
        embedded = encoder.embed(ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = encoder.run(embedded, mask)
    return encoder.pool(x.float(), mask)


def read_all(encoder, texts):
    encoder.eval()
    numbers = [None] * len(texts)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    with torch.no_grad():
        for at in range(0, len(order), 64):
            places = order[at : at + 64]
            for i, each in zip(places, read(encoder, [texts[i] for i in places])):
                numbers[i] = each
    encoder.train()
    return torch.stack(numbers)


def pair(offer, post):
    """[CLS] offer [SEP] post [SEP]"""
    return (offer + post[1:])[:MOST_TOKENS]


def tune(data, inside, held, weights):
    torch.manual_seed(1)
    chance = random.Random(1)
    encoder = Encoder(weights).train()
    head = nn.Linear(WIDTH, 1)
    nn.init.normal_(head.weight, std=0.02)
    scale = nn.Parameter(torch.tensor(3.0))
    layers = [p for layer in encoder.layers for p in layer.parameters()]
    groups = [
        {"params": layers, "lr": RATE, "weight_decay": DECAY},
        {"params": [head.weight, head.bias, scale], "lr": HEAD_RATE, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    rates = [group["lr"] for group in groups]
    sellers = [i for i in range(len(data.keys)) if i not in held]
    wishes = [row for row in inside if row["buying"] != "cold"]
    others = [row for row in inside if row["buying"] == "cold"]
    written = sorted({place for row in wishes for place in row["own"]})
    steps, step, began = -(-len(wishes) // BATCH) * PASSES, 0, time.time()
    for turn in range(PASSES):
        likest = hard_negatives(encoder, data, wishes + others, sellers)
        chance.shuffle(wishes)
        losses = []
        for at in range(0, len(wishes), BATCH):
            batch = wishes[at : at + BATCH]
            pace = min(1, (step + 1) / (WARM_UP * steps)) * (steps - step) / steps
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * pace
            loss = likeness_loss(encoder, data, batch, sellers=sellers, scale=scale, chance=chance)
            cold = chance.sample(others, min(COLD_A_BATCH, len(others)))
            chosen = pairs_of(data, batch, cold, likest=likest, pool=sellers + written, held=held, chance=chance)
            loss = loss + PAIR_SHARE * pair_loss(encoder, head, chosen)
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(layers, 1.0)
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} of {steps}: loss {np.mean(losses[-10:]):.3f}, {time.time() - began:.0f} s", flush=True)
        print(f"pass {turn + 1}: loss {np.mean(losses[-40:]):.3f}, {time.time() - began:.0f} s", flush=True)
    return encoder.eval(), head


def hard_negatives(encoder, data, rows, sellers):
    """Of each post the likest sellers for whom it is no signal: the catalogue was read whole."""
    offers = read_all(encoder, [data.offers[i] for i in sellers])
    posts = read_all(encoder, [row["tokens"] for row in rows])
    likest = {}
    for row, numbers in zip(rows, posts):
        order = (offers @ numbers).topk(min(14, len(sellers))).indices.tolist()
        likest[row["id"]] = [sellers[i] for i in order if sellers[i] not in row["fits"]][:6]
    return likest


def likeness_loss(encoder, data, batch, *, sellers, scale, chance):
    """Of all offers of the batch a post is likest to those that fit, and an offer to the posts that want it."""
    allowed = set(sellers)
    places = set(chance.sample(sellers, min(SELLERS_A_BATCH, len(sellers))))
    for row in batch:
        places |= {i for i in row["fits"] if i in allowed or i >= len(data.keys)}
        places |= {row["near"]} - {None}
    places = sorted(places)
    # A tenth of the posts are read as the wish that a reader wrote down.
    texts = [row["wants"] if row["wants"] and chance.random() < 0.1 else row["tokens"] for row in batch]
    posts = read(encoder, texts, UNREAD)
    offers = read(encoder, [data.offers[i] for i in places], UNREAD / 2)
    logits = scale.clamp(0, 4).exp() * posts @ offers.T
    fits = torch.tensor([[float(i in row["fits"]) for i in places] for row in batch])
    loss = 0
    for axis, share in ((1, 1.0), (0, 0.5)):
        against = torch.logsumexp(logits.masked_fill(fits > 0, -1e4), axis, keepdim=True)
        loss = loss + share * (functional.softplus(against - logits) * fits).sum() / fits.sum()
    return loss


def pairs_of(data, batch, cold, *, likest, pool, held, chance):
    """(offer, post, whether it fits, what it counts)"""
    pairs = []
    for row in batch:
        fitting = sorted(i for i in row["fits"] if i not in held)
        fitting = chance.sample(fitting, min(len(fitting), 1 + (chance.random() < 0.4)))
        against = [row["near"]] if row["near"] is not None and chance.random() < 0.7 else []
        against += [chance.choice(likest[row["id"]])] if likest[row["id"]] else []
        against += [chance.choice(pool)] if chance.random() < 0.3 else []
        pairs += [(data.offers[i], row["tokens"], 1.0, 1.0) for i in fitting]
        pairs += [(data.offers[i], row["tokens"], 0.0, 1.0) for i in against if i not in row["fits"]]
    for row in cold:
        if likest[row["id"]]:
            pairs.append((data.offers[chance.choice(likest[row["id"]][:4])], row["tokens"], 0.0, 0.7))
    return sorted(pairs, key=lambda each: len(each[0]) + len(each[1]))


def pair_loss(encoder, head, pairs):
    loss, half = 0, len(pairs) // 2
    for part in (pairs[:half], pairs[half:]):
        numbers = read(encoder, [pair(offer, post) for offer, post, *_ in part], UNREAD / 2)
        odds = head(numbers * HEAD_SCALE).squeeze(1)
        fits = torch.tensor([each[2] for each in part])
        counts = torch.tensor([each[3] for each in part])
        loss = loss + (functional.binary_cross_entropy_with_logits(odds, fits, reduction="none") * counts).sum()
    return loss / len(pairs)


def judge(encoder, head, data, rows, sellers):
    """Likeness of each post and seller, and the second look where the product would take it among these sellers."""
    posts = read_all(encoder, [row["tokens"] for row in rows])
    offers = read_all(encoder, [data.offers[i] for i in sellers])
    encoder.eval()
    likeness = (posts @ offers.T).numpy()
    wanted = np.full(likeness.shape, UNREAD_PAIR, np.float32)
    looks = [(r, c) for r in range(len(rows)) for c in np.argsort(-likeness[r])[:SECOND_LOOKS]]
    with torch.no_grad():
        for at in range(0, len(looks), 64):
            part = looks[at : at + 64]
            texts = [pair(data.offers[sellers[c]], rows[r]["tokens"]) for r, c in part]
            odds = head(read(encoder, texts) * HEAD_SCALE).squeeze(1).clamp(-6, 6)
            for (r, c), value in zip(part, odds.tolist()):
                wanted[r, c] = value
    return likeness, wanted


def examples(data, rows, sellers, likeness, wanted):
    """(post, seller, features, label) of every pair; label 2 hot, 1 warm, 0 neither."""
    for r, row in enumerate(rows):
        label = {place: 2 if each == "hot" else 1 for place, each in row["for"]}
        for c, seller in enumerate(sellers):
            features = [row["hot"], row["warm"], float(likeness[r, c]), float(wanted[r, c])]
            given = -1
            if row["given"] is not None and data.keys[seller] in GIVEN:
                given = {"hot": 2, "warm": 1}.get(row["given"].get(data.keys[seller]), 0)
            yield r, seller, features, label.get(seller, 0), given


GIVEN = ("crm", "bookkeeping", "ats", "email", "shopify", "gpu")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--hold", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    base = options.base / "model.onnx"
    data = Data(json.loads((options.work / "offers.json").read_text()))
    held, inside, outside = data.split(options.hold)
    print(f"{len(inside)} posts to learn from, {len(outside)} and {len(held)} sellers held out", flush=True)
    encoder, head = tune(data, inside, held, float_weights(onnx.load(base)))
    sellers = sorted(held)
    likeness, wanted = judge(encoder, head, data, outside, sellers)
    rows = list(examples(data, outside, sellers, likeness, wanted))
    (options.work / f"offers-fold-{options.hold}.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
