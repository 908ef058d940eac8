"""The encoder for offers: embeddings of texts and of a post's sentences, by which posts are matched with offers."""

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
        # The weights of the whole post and of its most similar sentence, as logarithms, and the bias.
        self.whole, self.sentence = nn.Parameter(torch.tensor(2.5)), nn.Parameter(torch.tensor(2.0))
        self.alone, self.bias = nn.Parameter(torch.tensor(3.0)), nn.Parameter(torch.tensor(-6.0))
        # General buying intent: hot, and hot or warm.
        self.intent = nn.Linear(WIDTH, 2)
        nn.init.zeros_(self.intent.weight)

    def tokens(self, texts, unread=0.0):
        """The embedding of each token, and a mask of tokens; layers in bfloat16. A share of the tokens is dropped."""
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
        """The embeddings of each post and of its sentences, and a mask of sentences."""
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
        """The similarity of each post's most similar sentence to each offer."""
        _, sentences, has = posts
        likeness = torch.einsum("psd,od->pos", sentences, offers)
        return likeness.masked_fill(~has[:, None], -2).max(-1).values
