"""What counts inside a community: an order that moves only when the community itself does.

PageRank moves for everyone when one document comes. What a model is shown must not, or each
small change would pay for every report again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphkb.report.corpus import Corpus, Grouped, Integers, strongest_inside


@dataclass(frozen=True)
class LocalOrder:
    """``weights[level][entity]`` is the number of binary digits of one more than the entity's
    neighbours inside its community; ``inner`` holds each community's relationships, best first
    by weight times the weights of both ends, ties by id.

    Digits and not counts: a hub with one more neighbour stays where it is.
    """

    weights: tuple[Integers, ...]
    inner: Grouped


def local_order(corpus: Corpus) -> LocalOrder:
    """The order inside every community of the corpus."""
    source, target = corpus.source, corpus.target
    ends = np.stack([np.minimum(source, target), np.maximum(source, target)])
    pairs = np.unique(ends[:, source != target], axis=1)
    stated = corpus.relationships["weight"].fill_null(0.0).fill_nan(0.0).clip(0.0, 1e12).to_numpy()
    weights = []
    for label in corpus.labels:
        inside = (label[pairs[0]] == label[pairs[1]]) & (label[pairs[0]] >= 0)
        near = np.bincount(pairs[:, inside].ravel(), minlength=len(label))
        # frexp gives the number of binary digits: 1 is 1, 2 and 3 are 2, 4 to 7 are 3.
        weights.append(np.frexp(1.0 + near)[1].astype(np.int64))
    strengths = [stated * (weight[source] + weight[target]) for weight in weights]
    return LocalOrder(tuple(weights), strongest_inside(corpus.labels, source, target, strengths))
