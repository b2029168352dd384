"""Checks of the exercises of two-losses."""

import numpy as np
from scipy.special import logsumexp, softmax

from medn_edu.course.exercises._shared import chain_score, labellings, lists_labellings, soft_best
from medn_edu.course.exercises.declarations import Function, Number, differs

check_log_z = Number(
    "the log-partition of two labellings with scores 5 and 3",
    right=float(logsumexp([5, 3])),
    praise="log(e^5 + e^3) = 5 + log(1 + e^-2): a little above the larger score, never below it.",
    mistakes={
        8.0: "that is the sum of the scores; it is e^score that is summed.",
        5.0: "that is the larger score; log Z lies above it, by log(1 + e^-2).",
        float(np.exp(5) + np.exp(3)): "that is Z; take its logarithm.",
        float(np.log(8)): "that is the logarithm of 5 + 3; sum e^5 and e^3 instead.",
        float(logsumexp([5, 3]) - 5): "that is the log-loss of the better one; do not subtract 5.",
    },
)

check_structured_hinge = Number(
    "the hinge of the word axi at the weights (1, 0.25)",
    right=1.5,
    praise="aai is ahead by 8 - 7.5 = 0.5 and should be behind by 1.",
    mistakes={
        0.5: "that is how far aai is ahead; its loss of 1 is still to be added.",
        0.75: "that is what aax lacks; another labelling lacks more.",
        1.0: "that is the number of wrong letters of the prediction; the hinge is at least as much.",
        9.0: "that is the largest loss plus score; subtract the true labelling's score.",
        0.0: "the true labelling gives 0; is there no labelling with more?",
        2.0: "that is the hinge at weights (1, 0); habits count a quarter.",
    },
)


def _gradient(scores: np.ndarray, features: np.ndarray, true: int) -> np.ndarray:
    return softmax(scores) @ features - features[true]


rng = np.random.default_rng(0)
check_log_loss_gradient = Function(
    "gradient(scores, features, true): that of the log-loss by the weights",
    cases=[
        (rng.normal(size=n), rng.integers(0, 5, size=(n, k)).astype(float), true)
        for n, k, true in ((4, 2, 1), (7, 3, 0), (27, 2, 26))
    ],
    right=_gradient,
    praise="expected features minus those of the truth; 0 only where the two agree.",
    mistakes=[
        (
            lambda s, f, t: -_gradient(s, f, t),
            "the sign: that is the gradient of log p, and the loss is -log p.",
        ),
        (
            lambda s, f, t: softmax(s) @ f,
            "that is the gradient of log Z; the true labelling's features are missing.",
        ),
        (
            lambda s, f, t: f[s.argmax()] - f[t],
            "that is the best labelling's features; the log-loss takes the mean over all.",
        ),
        (
            lambda s, f, t: np.exp(s) @ f - f[t],
            "e^score is no probability before it is divided by Z.",
        ),
        (
            lambda s, f, t: f.mean(axis=0) - f[t],
            "every labelling counts by its probability, not each the same.",
        ),
        (
            lambda s, f, t: softmax(s) - np.eye(len(s))[t],
            "that is the gradient by the scores; the weights move them through the features.",
        ),
    ],
    otherwise="some results differ; compare with finite differences of the log-loss.",
)


def _dual(alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray) -> float:
    w = alpha @ differences
    return float(alpha @ losses - w @ w / 2)


rng = np.random.default_rng(1)
check_m3n_dual = Function(
    "dual(alpha, losses, differences): the value of M3N's dual",
    cases=[
        (rng.random(n), rng.integers(0, 4, n).astype(float), rng.normal(size=(n, k)))
        for n, k in ((3, 2), (27, 2), (8, 5))
    ],
    right=_dual,
    praise="dual variables times losses, minus half the square of the weights they make.",
    mistakes=[
        (
            lambda a, loss, d: a @ loss,
            "the cost of the weights is missing: subtract half of |w|^2.",
        ),
        (lambda a, loss, d: a @ loss - (a @ d) @ (a @ d), "the square of the weights counts half."),
        (
            lambda a, loss, d: a @ loss + (a @ d) @ (a @ d) / 2,
            "the sign: the half square is subtracted; w was put where the bound is least.",
        ),
        (
            lambda a, loss, d: a @ loss - np.linalg.norm(a @ d) / 2,
            "that is half the length of the weights; square it.",
        ),
        (
            lambda a, loss, d: a @ loss - a @ (d**2).sum(axis=1) / 2,
            "first add the differences up to w, then square: a word's labellings work together.",
        ),
        (
            lambda a, loss, d: loss.sum() - (a @ d) @ (a @ d) / 2,
            "each loss counts with the dual variable of its labelling.",
        ),
    ],
    otherwise="some results differ; with alpha(aax) = 1 and no other it is 2 - 1 = 1.",
)


def _log_partition(node: np.ndarray, edge: np.ndarray) -> float:
    return soft_best(node, edge, 1.0)


def _listed(node: np.ndarray, edge: np.ndarray) -> float:
    return float(logsumexp([chain_score(node, edge, labels) for labels in labellings(node)]))


def _overflowing(node: np.ndarray, edge: np.ndarray) -> float:
    below = np.exp(node[0])
    for here in node[1:]:
        below = np.exp(here) * (below @ np.exp(edge))
    return float(np.log(below.sum()))


_LARGE = np.array([[900.0, 901.0], [899.0, 900.0], [900.0, 950.0]])
_EDGE = np.array([[0.0, 1.0], [2.0, 0.0]])
rng = np.random.default_rng(2)
check_log_partition = Function(
    "log_partition(node, edge) for words of any length",
    cases=[
        (rng.normal(size=(n, k)), rng.normal(size=(k, k)))
        for n, k in ((1, 3), (2, 3), (3, 2), (12, 2))
    ],
    right=_log_partition,
    praise="one sweep over the word, and no overflow.",
    mistakes=[
        (
            lambda node, edge: logsumexp(node, axis=1).sum(),
            "that reads every letter alone; the transitions are missing.",
        ),
        (
            lambda node, edge: soft_best(node, edge, 0.0),
            "that is the best score, Viterbi's; replace every maximum by a log-sum-exp.",
        ),
        (
            lambda node, edge: _log_partition(node, edge.T),
            "before and after are mixed up: edge[a, b] has the label before first.",
        ),
        (lambda node, edge: np.exp(_log_partition(node, edge)), "that is Z; return its logarithm."),
        (
            lambda node, edge: _log_partition(node, edge) - node[0].max(),
            "the number you subtracted before exp has to be added again.",
        ),
    ],
    hidden=[
        (
            _listed,
            "right, but it looks at every labelling: 4^9 of them take a while, 10^10 for ever. "
            "Sweep over the word, one number a label.",
            lists_labellings,
        ),
        (
            _overflowing,
            "right while scores are small, but e^900 overflows (and e^-900 is 0); subtract the largest "
            "number before exp and add it after log.",
            differs(_log_partition, (_LARGE, _EDGE), (-_LARGE, _EDGE)),
        ),
    ],
    otherwise="some results differ; list all labellings of a word of two letters and compare.",
)
