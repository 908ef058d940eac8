"""Weighs general intent and likeness by sellers and posts that the encoder had not seen. See ../README.md.

    fit.py WORK FOLD OUT   prints what it comes to (cross-validated over posts), and writes offer-weights.json

WORK/general.json holds general log-odds of posts by id, by an encoder that was tuned without them; posts that it lacks are left out.
"""

import argparse
import json
import zlib
from pathlib import Path

import numpy as np

PENALTY = 1.0
PARTS = 5
AIMS = {"hot": (0.45, 0.45), "warm": (0.55, 0.60)}
LEAST = {"hot": 2, "warm": 1}
LIKENESSES = ("whole", "sentence", "described", "rivals")
LABELS = {"cold": 0, "warm": 1, "hot": 2}
MOST_WORDS = {"phrase": 1.5, "competitor": 1.6}
"""At most: the drafts that weights are learnt from know more of these sellers than of others."""
LEAST_GENERAL = {"hot": (0.3, 0.0), "warm": (0.0, 0.25)}
"""General odds count so much at least: posts were chosen for reading because a model found them hot or warm, so that they say
too little of what a stream is mostly made of."""
REACH = 6.0
LEAST_INTENT_SHARE = 0.02
"""Of the pairs that are a signal so many are given up for not encoding posts of low intent a second time."""


def logistic(x, y):
    x = np.column_stack([x, np.ones(len(x))])
    weights, keep = np.zeros(x.shape[1]), np.full(x.shape[1], PENALTY)
    keep[-1] = 0
    for _ in range(50):
        odds = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (odds - y) + keep * weights
        bend = (x * (odds * (1 - odds))[:, None]).T @ x + np.diag(keep + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def cut_for(odds, yes, aim):
    """The cut at which the worse of precision and recall is furthest above its aim."""
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
    held = [row for row in rows if row["whole"] is not None and row["id"] in general]
    column = lambda name: np.array([float(row[name]) for row in held])
    label = np.array([LABELS[row["given"] or row["label"]] for row in held])
    given = np.array([row["given"] is not None for row in held])
    part = np.array([zlib.crc32(row["id"].encode()) % PARTS for row in held])
    hot, warm = np.array([general[row["id"]] for row in held]).T
    likenesses = np.column_stack([column(name) for name in LIKENESSES])
    words = np.column_stack([column(name) for name in MOST_WORDS])
    most = np.array(list(MOST_WORDS.values()))

    scale = logistic(np.column_stack([hot, warm, likenesses, words]), label >= 1)[2 : 2 + len(LIKENESSES)]
    likeness = likenesses @ scale
    centre = float(np.median(likeness[label >= 1])) - 1.5
    beyond = np.clip(likeness - centre, -REACH, REACH)
    x = np.column_stack([hot, warm, beyond, words])

    def fitted(question, chosen, yes):
        weights = logistic(x[chosen], yes[chosen])
        weights[:2] = np.maximum(weights[:2], LEAST_GENERAL[question])
        weights[3:5] = np.minimum(weights[3:5], most)
        return weights

    model = {**dict(zip(LIKENESSES, scale)), "centre": centre, "reach": REACH}
    wanting = np.sort(warm[label >= 1])
    model["leastIntent"] = float(wanting[int(LEAST_INTENT_SHARE * len(wanting))])
    odds = {}
    for question, least in LEAST.items():
        yes = label >= least
        odds[question] = np.zeros(len(x))
        for n in range(PARTS):
            rest = part != n
            weights = fitted(question, rest, yes)
            told = x @ weights[:-1] + weights[-1]
            odds[question][~rest] = told[~rest] - cut_for(told[rest], yes[rest], AIMS[question])
        weights = fitted(question, np.full(len(x), True), yes)
        told = x @ weights[:-1] + weights[-1]
        cut = cut_for(told, yes, AIMS[question])
        model[question] = {
            "general": {"hot": weights[0], "warm": weights[1]},
            "likeness": weights[2],
            "phrase": weights[3],
            "competitor": weights[4],
            "bias": weights[5] - cut,
        }
        for name, chosen in (("all", np.full(len(x), True)), ("given", given)):
            y, o = yes[chosen], odds[question][chosen]
            shown = o >= 0
            print(
                f"{question} {name}: precision {y[shown].mean():.2f}, at least warm {(label[chosen] >= 1)[shown].mean():.2f},"
                f" recall {shown[y].mean():.2f} of {y.sum()}, shown {shown.sum()}, average precision {average_precision(o, y):.3f}"
            )
    lost = sum(1 for row in rows if row["whole"] is None and (row["given"] or row["label"]) != "cold")
    print(f"{len(held)} pairs, {lost} signals among posts that were not held against offers")
    options.out.write_text(json.dumps(rounded(model), indent=1) + "\n")


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return round(float(value), 4)


if __name__ == "__main__":
    main()
