"""Weighs intent, likeness and second look by sellers and posts that the encoder had not seen. See ../README.md.

    fit.py WORK FOLD [FOLD ...]   prints what that is worth, without the second look and with it
"""

import argparse
import json
import zlib
from pathlib import Path

import numpy as np

PENALTY = 1.0
AIMS = {"hot": (0.45, 0.45), "warm": (0.55, 0.60)}
QUESTIONS = {"hot": (0, 2), "warm": (1, 1)}
"""By question: which of the general judge's two odds counts, and the least label that answers yes."""


def load(work, folds):
    rows = []
    for fold in folds:
        for post, seller, features, label, given in json.loads((work / f"offers-fold-{fold}.json").read_text()):
            rows.append((f"{fold}-{post}", seller, *features, given if given >= 0 else label, given >= 0))
    return rows


def logistic(x, y):
    x = np.column_stack([x, np.ones(len(x))])
    weights = np.zeros(x.shape[1])
    keep = np.full(x.shape[1], PENALTY)
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
    """The cut at which precision and recall are furthest above their aims, the worse of the two first."""
    precision_aim, recall_aim = aim
    order = np.argsort(-odds)
    right = np.cumsum(yes[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / max(1, yes.sum())
    margin = np.minimum(precision / precision_aim, recall / recall_aim)
    best = int(margin.argmax())
    return odds[order][best] - 1e-6


def figures(odds, cut, yes, least):
    told = odds >= cut
    return (
        f"precision {yes[told].mean() if told.any() else 0:.2f}, recall {told[yes].mean() if yes.any() else 0:.2f}"
        f" (of {yes.sum()}), at least warm {least[told].mean() if told.any() else 0:.2f}, shown {told.sum()}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("folds", type=int, nargs="+")
    options = parser.parse_args()
    rows = load(options.work, options.folds)
    features = np.array([row[2:6] for row in rows])
    labels = np.array([row[6] for row in rows])
    given = np.array([row[7] for row in rows])
    halves = np.array([zlib.crc32(row[0].encode()) % 2 for row in rows])
    for question, (intent, least) in QUESTIONS.items():
        yes = labels >= least
        for name, columns in (("likeness", [intent, 2]), ("likeness and second look", [intent, 2, 3])):
            odds = np.zeros(len(rows))
            for half in (0, 1):
                rest = halves != half
                weights = logistic(features[rest][:, columns], yes[rest])
                told = features[:, columns] @ weights[:-1] + weights[-1]
                cut = cut_for(told[rest], yes[rest], AIMS[question])
                odds[~rest] = told[~rest] - cut
            print(f"{question}, {name}: {figures(odds, 0, yes, labels >= 1)}")
            print(f"  given sellers: {figures(odds[given], 0, yes[given], labels[given] >= 1)}")


if __name__ == "__main__":
    main()
