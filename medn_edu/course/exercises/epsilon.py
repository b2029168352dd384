"""Checks of the exercises of epsilon."""

from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises._shared import chain_score, soft_best, soft_max
from medn_edu.course.exercises.declarations import Function, Number, differs

check_two_scores = Number(
    "the soft-max at temperature 0.5 of two labellings with the score 3",
    right=3 + 0.5 * np.log(2),
    praise="3 + 0.5 log 2. With equal scores the upper bound, max + epsilon log n, is attained.",
    mistakes={
        3.0: "that is the maximum, the value at epsilon = 0.",
        3 + np.log(2): "that is the log-partition, the value at epsilon = 1.",
        6 + np.log(2): "multiply by epsilon in front of the logarithm too.",
        3 + 2 * np.log(2): "log 2 is multiplied by epsilon, not divided by it.",
        1.5 + 0.5 * np.log(2): "divide the scores by epsilon in the exponent.",
        3 + 0.5 * np.log10(2): "log is the natural logarithm, `np.log`.",
    },
)

check_soft_gap = Number(
    "by how much soft-max can exceed max: 4 digits of 10 labels each, temperature 0.1",
    right=0.4 * np.log(10),
    praise="0.1 log 10^4. It grows with the number of letters, not with the number of labellings.",
    mistakes={
        4 * np.log(10): "that is log n; multiply it by epsilon.",
        0.1 * np.log(10): "that is one letter's share; there are 10^4 labellings, not 10.",
        0.1 * np.log(40): "4 letters with 10 labels each have 10^4 labellings, not 40.",
        0.1 * np.log(4**10): "10^4 labellings, not 4^10: a label for each of 4 letters.",
        0.4: "log is the natural logarithm, `np.log`.",
        1000.0: "the logarithm of the number of labellings, not the number.",
    },
)

check_temperature_for = Function(
    "temperature_for(accuracy, C, n_labellings)",
    cases=[
        (0.01, 1.0, np.array([27.0])),
        (0.5, 0.1, np.array([1e4, 1e7, 1e5])),
        (2.0, 3.0, np.array([27.0, 81.0])),
    ],
    right=lambda accuracy, C, n: accuracy / (C * np.sum(np.log(n))),
    praise="the gap is at most epsilon C sum log n. Enough, and often more careful than need be.",
    mistakes=[
        (
            lambda accuracy, C, n: accuracy / np.sum(np.log(n)),
            "every word's loss is multiplied by C, and so is what it may be off by.",
        ),
        (
            lambda accuracy, C, n: C * accuracy / np.sum(np.log(n)),
            "C belongs below: the more expensive the losses, the cooler one has to be.",
        ),
        (
            lambda accuracy, C, n: accuracy / (C * np.log(np.sum(n))),
            "each word has a soft-max of its own: the sum of logarithms, not the log of the sum.",
        ),
        (
            lambda accuracy, C, n: accuracy / (C * np.max(np.log(n))),
            "the words' gaps add up; the largest alone is not enough.",
        ),
        (
            lambda accuracy, C, n: accuracy / (C * np.sum(n)),
            "the logarithms of the numbers of labellings, not the numbers.",
        ),
        (
            lambda accuracy, C, n: accuracy * C * np.sum(np.log(n)),
            "solve epsilon C sum log n = accuracy for epsilon: divide.",
        ),
    ],
    otherwise="some results differ; try one word with C = 1 and 27 labellings.",
)


def _cooler(p: np.ndarray, epsilon: float) -> np.ndarray:
    return softmax(np.log(p) / epsilon)


check_cooler = Function(
    "cooler(p, epsilon): a distribution at temperature 1, taken to epsilon",
    cases=[
        (np.array([0.5, 0.3, 0.2]), 0.5),
        (np.array([0.1, 0.0, 0.6, 0.3]), 0.2),
        (np.array([0.7, 0.2, 0.1]), 4.0),
    ],
    right=_cooler,
    praise="p^(1/epsilon), normalised: no scores are needed to change the temperature.",
    mistakes=[
        (lambda p, epsilon: p ** (1 / epsilon), "divide by the sum: probabilities add up to 1."),
        (
            lambda p, epsilon: p**epsilon / np.sum(p**epsilon),
            "the exponent is 1/epsilon: a small epsilon must sharpen, yours flattens.",
        ),
        (
            lambda p, epsilon: softmax(p / epsilon),
            "probabilities are not scores: their logarithms are, up to a constant.",
        ),
        (lambda p, epsilon: p, "that is p itself; nothing has been cooled."),
        (
            lambda p, epsilon: (p == p.max()) / np.sum(p == p.max()),
            "that is the limit at epsilon = 0, not the way there.",
        ),
    ],
    hidden=[
        (
            lambda p, epsilon: p ** (1 / epsilon) / np.sum(p ** (1 / epsilon)),
            "right while it is mild, but at epsilon = 0.001 all powers underflow to 0; divide p by "
            "its largest entry first, or take logarithms.",
            differs(_cooler, (np.array([0.3, 0.3, 0.4, 0.0]), 1e-3)),
        ),
    ],
    otherwise="some results differ; at epsilon = 1/2 the probabilities are squared and normalised.",
)


def _with_loss(node: np.ndarray, y: np.ndarray) -> np.ndarray:
    return node + (np.arange(node.shape[1]) != np.asarray(y)[:, None])


def _soft_hinge(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    return soft_best(_with_loss(node, y), edge, epsilon) - chain_score(node, edge, y)


def _words(*epsilons: float) -> list[tuple[Any, ...]]:
    """Return a word for each temperature."""
    rng, words = np.random.default_rng(10), []
    for (t, k), epsilon in zip([(4, 3), (2, 5), (6, 2)], epsilons, strict=True):
        node, edge = rng.normal(scale=2.0, size=(t, k)), rng.normal(scale=2.0, size=(k, k))
        words.append((node, edge, rng.integers(k, size=t), epsilon))
    return words


def _overflowing(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    below = np.exp(_with_loss(node, y) / epsilon)
    for here in below[1:]:
        below[0] = here * (below[0] @ np.exp(edge / epsilon))
    return epsilon * np.log(below[0].sum()) - chain_score(node, edge, y)


check_soft_hinge = Function(
    "soft_hinge(node, edge, y, epsilon): the loss of a word at a temperature",
    cases=_words(1.0, 0.4, 2.5),
    right=_soft_hinge,
    praise="one recursion, from the CRF's log-loss to M3N's hinge, at every temperature.",
    mistakes=[
        (
            lambda node, edge, y, epsilon: (
                soft_best(node, edge, epsilon) - chain_score(node, edge, y)
            ),
            "the Hamming loss is missing: add 1 to all wrong labels of `node`.",
        ),
        (
            lambda node, edge, y, epsilon: soft_best(_with_loss(node, y), edge, epsilon),
            "subtract the score of the true labelling.",
        ),
        (
            lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 0.0),
            "that is the hinge, at epsilon = 0; soft-max in place of max.",
        ),
        (
            lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 1.0),
            "that is right at epsilon = 1 only; where does epsilon come in?",
        ),
        (
            lambda node, edge, y, epsilon: (
                soft_best(_with_loss(node, y) / epsilon, edge / epsilon, 1.0)
                - chain_score(node, edge, y)
            ),
            "the log-partition of scores over epsilon has to be multiplied by epsilon again.",
        ),
        (
            lambda node, edge, y, epsilon: (
                soft_best(_with_loss(node, y), edge.T, epsilon) - chain_score(node, edge, y)
            ),
            "edge[a, b] is for a before b; somewhere the table is used the other way round.",
        ),
        (
            lambda node, edge, y, epsilon: (
                soft_max(_with_loss(node, y), epsilon, axis=1).sum() - chain_score(node, edge, y)
            ),
            "the letters are not independent: `edge` belongs into the recursion.",
        ),
    ],
    hidden=[
        (
            _overflowing,
            "right where it is mild, but e^(score / 0.001) overflows; take the largest out first.",
            differs(_soft_hinge, *_words(1e-3, 1e-4, 1e-3)),
        ),
        (
            lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, epsilon) if epsilon else None,
            "right where it is mild, but at epsilon = 0 it has to return the hinge loss.",
            differs(_soft_hinge, *_words(0.0, 0.0, 0.0)),
        ),
    ],
    otherwise="some results differ; try one letter, where edge has no say, on paper.",
)
