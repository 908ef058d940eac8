"""Fits the weights of general intent and similarity on sellers and posts that the encoder was not tuned on. See ../README.md.

    fit.py WORK FOLD OUT   prints the figures (cross-validated over posts), and writes offer-weights.json

WORK/general.json contains the general log-odds of posts by ID, from an encoder that was not tuned on them; other posts are omitted.
"""

import argparse
import json
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

PENALTY = 1.0
PARTS = 5
AIMS = {"hot": (0.45, 0.45), "warm": (0.55, 0.60)}
LEAST = {"hot": 2, "warm": 1}
LIKENESSES = ("sentence", "described", "rivals", "needs")
LABELS = {"cold": 0, "warm": 1, "hot": 2}
MOST_WORDS = {"phrase": 1.5, "competitor": 1.6}
"""Upper bound: the drafts in the training data contain more about these sellers than about others."""
LEAST_GENERAL = {"hot": (0.3, 0.0), "warm": (0.0, 0.25)}
"""Lower bound of the weight of general odds: posts were selected for labelling because a model classified them as hot or warm, so
the bulk of a stream is underrepresented."""
REACH = 6.0
STEEP = np.array([6.0, 6.0, 3.0, 1.0])
"""Scales similarities to the size of the other features, so that one penalty suits all."""
FIRST = ([0.3, 0.7, 1.0], [0.5, 0.5, -0.3, 0.5, 1.0, 1.0, -2.0])
SECOND = ([0.3, 0.7, 1.0], [1.0, 1.0, 1.0, -1.0])
"""The starting point of the fits."""
LEAST_INTENT_SHARE = 0.02
"""The share of signals that may be lost because posts with low intent are not encoded a second time."""


def both(general, match):
    """The log-odds that both are true, from two log-odds."""
    return general + match - np.logaddexp(0, np.logaddexp(general, match))


def fit_both(buys, wants, yes, start):
    """The weights of features of buying intent, and of interest in this offer, each followed by a bias."""
    texts = [torch.tensor(np.column_stack([x, np.ones(len(x))])) for x in (buys, wants)]
    answers = torch.tensor(yes.astype(float))
    weights = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in start]
    optimizer = torch.optim.LBFGS(weights, max_iter=300, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        odds = sum(functional.logsigmoid(x @ w) for x, w in zip(texts, weights)).clamp(max=-1e-9)
        missed = -(answers * odds + (1 - answers) * torch.log1p(-odds.exp())).sum()
        total = missed + PENALTY / 2 * sum((w[:-1] ** 2).sum() for w in weights)
        total.backward()
        return total

    optimizer.step(loss)
    return [w.detach().numpy() for w in weights]


def cut_for(odds, yes, aim):
    """The threshold at which the worse of precision and recall is furthest above its target."""
    order = np.argsort(-odds)
    right = np.cumsum(yes[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / max(1, yes.sum())
    best = int(np.minimum(precision / aim[0], recall / aim[1]).argmax())
    return odds[order][best] - 1e-6


def average_precision(odds, yes):
    right = np.cumsum(yes[np.argsort(-odds)])
    return float((right / np.arange(1, len(right) + 1) * yes[np.argsort(-odds)]).sum() / max(1, yes.sum()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("fold")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    rows = json.loads((options.work / f"pairs-{options.fold}.json").read_text())
    general = json.loads((options.work / "general.json").read_text())
    held = [row for row in rows if row["sentence"] is not None and row["id"] in general]
    column = lambda name: np.array([float(row[name]) for row in held])
    label = np.array([LABELS[row["given"] or row["label"]] for row in held])
    given = np.array([row["given"] is not None for row in held])
    part = np.array([zlib.crc32(row["id"].encode()) % PARTS for row in held])
    hot, warm = np.array([general[row["id"]] for row in held]).T
    likenesses = np.column_stack([column(name) for name in LIKENESSES])
    words = np.column_stack([column(name) for name in MOST_WORDS])
    most = np.array(list(MOST_WORDS.values()))

    intent = np.column_stack([hot, warm])
    found = np.full(len(label), True)
    _, first = fit_both(intent, np.column_stack([likenesses * STEEP, words]), label >= 1, FIRST)
    scale = first[: len(LIKENESSES)] * STEEP
    likeness = likenesses @ scale
    centre = float(np.median(likeness[label >= 1])) - 1.5
    beyond = np.clip(likeness - centre, -REACH, REACH)
    topic = np.column_stack([beyond, words])

    def fitted(question, chosen, yes):
        buys, wants = fit_both(intent[chosen], topic[chosen], yes[chosen], SECOND)
        buys[:2] = np.maximum(buys[:2], LEAST_GENERAL[question])
        wants[1:3] = np.clip(wants[1:3], 0, most)
        return buys, wants

    def told_by(buys, wants):
        return both(intent @ buys[:2] + buys[2], topic @ wants[:3] + wants[3])

    model = {**dict(zip(LIKENESSES, scale)), "centre": centre, "reach": REACH}
    wanting = np.sort(warm[label >= 1])
    model["leastIntent"] = float(wanting[int(LEAST_INTENT_SHARE * len(wanting))])
    odds = {}
    for question, least in LEAST.items():
        yes = label >= least
        odds[question] = np.zeros(len(label))
        for n in range(PARTS):
            rest = part != n
            told = told_by(*fitted(question, rest, yes))
            odds[question][~rest] = told[~rest] - cut_for(told[rest], yes[rest], AIMS[question])
        buys, wants = fitted(question, found, yes)
        model[question] = {
            "general": {"hot": buys[0], "warm": buys[1]},
            "generalBias": buys[2],
            "likeness": wants[0],
            "phrase": wants[1],
            "competitor": wants[2],
            "bias": wants[3],
            "cut": cut_for(told_by(buys, wants), yes, AIMS[question]),
        }
        for name, chosen in (("all", found), ("given", given)):
            y, o = yes[chosen], odds[question][chosen]
            shown = o >= 0
            print(
                f"{question} {name}: precision {y[shown].mean():.2f}, at least warm {(label[chosen] >= 1)[shown].mean():.2f},"
                f" recall {shown[y].mean():.2f} of {y.sum()}, shown {shown.sum()}, average precision {average_precision(o, y):.3f}"
            )
    lost = sum(1 for row in rows if row["sentence"] is None and (row["given"] or row["label"]) != "cold")
    print(f"{len(held)} pairs, {lost} signals among posts that were not compared with offers")
    options.out.write_text(json.dumps(rounded(model), indent=1) + "\n")


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return round(float(value), 4)


if __name__ == "__main__":
    main()
