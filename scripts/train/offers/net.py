"""The encoder as it tells what a post wants from what is sold: a text's numbers, and those of a post's sentences."""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(Path(__file__).parent.parent / "encoder"))
from model import WIDTH, Encoder, float_weights  # noqa: E402, F401

MOST_SENTENCES = 12


class OfferNet(nn.Module):
    def __init__(self, weights, dropout=0.0):
        super().__init__()
        self.encoder = Encoder(weights, dropout)
        # How much the whole post and its likest sentence count, as logarithms, and where the sum begins.
        self.whole, self.sentence = nn.Parameter(torch.tensor(2.5)), nn.Parameter(torch.tensor(2.0))
        self.alone, self.bias = nn.Parameter(torch.tensor(3.0)), nn.Parameter(torch.tensor(-6.0))
        # Whether anybody wants to buy anything: hot, hot or warm.
        self.intent = nn.Linear(WIDTH, 2)
        nn.init.zeros_(self.intent.weight)

    def tokens(self, texts, unread=0.0):
        """Each token's numbers, and which tokens there are; layers in bfloat16. A share of the tokens is not read."""
        width = max(map(len, texts))
        ids = torch.zeros(len(texts), width, dtype=torch.long)
        mask = torch.zeros(len(texts), 1, 1, width, dtype=torch.bool)
        for j, text in enumerate(texts):
            ids[j, : len(text)] = torch.tensor(text)
            mask[j, 0, 0, : len(text)] = True
        if unread > 0:
            kept = torch.rand(mask.shape) >= unread
            kept[..., 0] = True
            mask = mask & kept
        with torch.no_grad():
            embedded = self.encoder.embed(ids)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.encoder.run(embedded, mask)
        return x.float(), mask

    def texts(self, texts, unread=0.0):
        return self.encoder.pool(*self.tokens(texts, unread))

    def posts(self, texts, lengths, unread=0.0):
        """The numbers of each post, of each of its sentences, and which sentences it has."""
        x, mask = self.tokens(texts, unread)
        most = min(MOST_SENTENCES, max(map(len, lengths)))
        belongs = torch.zeros(len(texts), most, x.shape[1])
        for i, (text, sentences) in enumerate(zip(texts, lengths)):
            start = 1
            for k, count in enumerate(sentences[:most]):
                end = min(start + count, len(text) - 1)
                belongs[i, k, start : max(start, end)] = 1
                start = end
            if belongs[i].sum() == 0:
                belongs[i, 0, : len(text)] = 1
        belongs = belongs * mask[:, 0, 0, :].float()[:, None]
        sentences = (belongs / belongs.sum(-1, keepdim=True).clamp(min=1)) @ x
        return self.encoder.pool(x, mask), functional.normalize(sentences, dim=-1), belongs.sum(-1) > 0

    @staticmethod
    def likest(posts, offers):
        """Of each post and offer how like the offer its likest sentence is."""
        _, sentences, has = posts
        likeness = torch.einsum("psd,od->pos", sentences, offers)
        return likeness.masked_fill(~has[:, None], -2).max(-1).values
