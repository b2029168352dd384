"""Checks of the exercises of two-losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from medn_edu.course.exercises._chains import lists_labellings
from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number


@check
def check_log_z(answer: Any) -> Verdict:
    """Check the log-partition of two labellings with scores 5 and 3.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_log_z(8)
    Not quite: that is the sum of the scores; it is e^score that is summed.
    """
    return judge_number(
        answer,
        float(logsumexp([5, 3])),
        "log(e^5 + e^3) = 5 + log(1 + e^-2): a little above the larger score, never below it.",
        {
            8.0: "that is the sum of the scores; it is e^score that is summed.",
            5.0: "that is the larger score; log Z lies above it, by log(1 + e^-2).",
            float(np.exp(5) + np.exp(3)): "that is Z; take its logarithm.",
            float(np.log(8)): "that is the logarithm of 5 + 3; sum e^5 and e^3 instead.",
            float(
                logsumexp([5, 3]) - 5
            ): "that is the log-loss of the better one; do not subtract 5.",
        },
    )


@check
def check_structured_hinge(answer: Any) -> Verdict:
    """Check the hinge of the word axi at the weights (1, 0.25).

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_structured_hinge(0.5)
    Not quite: that is how far aai is ahead; its loss of 1 is still to be added.
    """
    return judge_number(
        answer,
        1.5,
        "aai is ahead by 8 - 7.5 = 0.5 and should be behind by 1.",
        {
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


@check
def check_log_loss_gradient(answer: Any) -> Verdict:
    """Check a function ``gradient(scores, features, true)``: that of the log-loss by the weights.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_log_loss_gradient(lambda scores, features, true: features[true] - features[0])
    Not quite: some results differ; compare with finite differences of the log-loss.
    """
    rng = np.random.default_rng(0)
    cases = [
        (rng.normal(size=n), rng.integers(0, 5, size=(n, k)).astype(float), true)
        for n, k, true in ((4, 2, 1), (7, 3, 0), (27, 2, 26))
    ]
    return judge_function(
        answer,
        cases,
        _gradient,
        "expected features minus those of the truth; 0 only where the two agree.",
        [
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
        "some results differ; compare with finite differences of the log-loss.",
    )


def _dual(alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray) -> float:
    w = alpha @ differences
    return float(alpha @ losses - w @ w / 2)


@check
def check_m3n_dual(answer: Any) -> Verdict:
    """Check a function ``dual(alpha, losses, differences)``: the value of M3N's dual.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_m3n_dual(lambda alpha, losses, differences: alpha @ losses)
    Not quite: the cost of the weights is missing: subtract half of |w|^2.
    """
    rng = np.random.default_rng(1)
    cases = [
        (rng.random(n), rng.integers(0, 4, n).astype(float), rng.normal(size=(n, k)))
        for n, k in ((3, 2), (27, 2), (8, 5))
    ]
    return judge_function(
        answer,
        cases,
        _dual,
        "dual variables times losses, minus half the square of the weights they make.",
        [
            (
                lambda a, loss, d: a @ loss,
                "the cost of the weights is missing: subtract half of |w|^2.",
            ),
            (
                lambda a, loss, d: a @ loss - (a @ d) @ (a @ d),
                "the square of the weights counts half.",
            ),
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
        "some results differ; with alpha(aax) = 1 and no other it is 2 - 1 = 1.",
    )


def _log_partition(node: np.ndarray, edge: np.ndarray) -> float:
    forward = node[0]
    for here in node[1:]:
        forward = here + logsumexp(forward[:, None] + edge, axis=0)
    return float(logsumexp(forward))


def _viterbi_score(node: np.ndarray, edge: np.ndarray) -> float:
    best = node[0]
    for here in node[1:]:
        best = here + (best[:, None] + edge).max(axis=0)
    return float(best.max())


@check
def check_log_partition(answer: Any) -> Verdict:
    """Check a function ``log_partition(node, edge)`` for words of any length.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_log_partition(lambda node, edge: logsumexp(node, axis=1).sum())
    Not quite: that reads every letter alone; the transitions are missing.
    """
    rng = np.random.default_rng(2)
    cases = [
        (rng.normal(size=(n, k)), rng.normal(size=(k, k)))
        for n, k in ((1, 3), (2, 3), (3, 2), (12, 2))
    ]
    verdict = judge_function(
        answer,
        cases,
        _log_partition,
        "one sweep over the word, and no overflow.",
        [
            (
                lambda node, edge: logsumexp(node, axis=1).sum(),
                "that reads every letter alone; the transitions are missing.",
            ),
            (
                _viterbi_score,
                "that is the best score, Viterbi's; replace every maximum by a log-sum-exp.",
            ),
            (
                lambda node, edge: _log_partition(node, edge.T),
                "before and after are mixed up: edge[a, b] has the label before first.",
            ),
            (
                lambda node, edge: np.exp(_log_partition(node, edge)),
                "that is Z; return its logarithm.",
            ),
            (
                lambda node, edge: _log_partition(node, edge) - node[0].max(),
                "the number you subtracted before exp has to be added again.",
            ),
        ],
        "some results differ; list all labellings of a word of two letters and compare.",
    )
    if verdict[0] and lists_labellings(answer):
        return False, (
            "right, but it looks at every labelling: 4^9 of them take a while, 10^10 for ever. "
            "Sweep over the word, one number a label."
        )
    if verdict[0] and not _survives(answer):
        return False, (
            "right while scores are small, but e^900 overflows (and e^-900 is 0); subtract the largest "
            "number before exp and add it after log."
        )
    return verdict


def _survives(answer: Any) -> bool:
    """Whether large scores of either sign give a number, the right one."""
    edge = np.array([[0.0, 1.0], [2.0, 0.0]])
    words = [sign * np.array([[900.0, 901.0], [899.0, 900.0], [900.0, 950.0]]) for sign in (1, -1)]
    with np.errstate(all="ignore"):
        return all(bool(np.isclose(answer(x, edge), _log_partition(x, edge))) for x in words)
