"""Checks of the exercises of epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number


@check
def check_two_scores(answer: Any) -> Verdict:
    """Check the soft-max at temperature 0.5 of two labellings with the score 3.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_two_scores(3)
    Not quite: that is the maximum, the value at epsilon = 0.
    """
    return judge_number(
        answer,
        3 + 0.5 * np.log(2),
        "3 + 0.5 log 2. With equal scores the upper bound, max + epsilon log n, is attained.",
        {
            3.0: "that is the maximum, the value at epsilon = 0.",
            3 + np.log(2): "that is the log-partition, the value at epsilon = 1.",
            6 + np.log(2): "multiply by epsilon in front of the logarithm too.",
            3 + 2 * np.log(2): "log 2 is multiplied by epsilon, not divided by it.",
            1.5 + 0.5 * np.log(2): "divide the scores by epsilon in the exponent.",
            3 + 0.5 * np.log10(2): "log is the natural logarithm, `np.log`.",
        },
    )


@check
def check_soft_gap(answer: Any) -> Verdict:
    """Check by how much soft-max can exceed max: 4 digits of 10 labels each, temperature 0.1.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_soft_gap(4 * np.log(10))
    Not quite: that is log n; multiply it by epsilon.
    """
    return judge_number(
        answer,
        0.4 * np.log(10),
        "0.1 log 10^4. It grows with the number of letters, not with the number of labellings.",
        {
            4 * np.log(10): "that is log n; multiply it by epsilon.",
            0.1 * np.log(10): "that is one letter's share; there are 10^4 labellings, not 10.",
            0.1 * np.log(40): "4 letters with 10 labels each have 10^4 labellings, not 40.",
            0.1 * np.log(4**10): "10^4 labellings, not 4^10: a label for each of 4 letters.",
            0.4: "log is the natural logarithm, `np.log`.",
            1000.0: "the logarithm of the number of labellings, not the number.",
        },
    )


def _temperature_for(accuracy: float, C: float, n_labellings: Sequence[float]) -> float:
    return accuracy / (C * float(np.sum(np.log(n_labellings))))


@check
def check_temperature_for(answer: Any) -> Verdict:
    """Check a function ``temperature_for(accuracy, C, n_labellings)``.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_temperature_for(lambda accuracy, C, n: accuracy / np.sum(np.log(n)))
    Not quite: every word's loss is multiplied by C, and so is what it may be off by.
    """
    return judge_function(
        answer,
        [
            (0.01, 1.0, np.array([27.0])),
            (0.5, 0.1, np.array([1e4, 1e7, 1e5])),
            (2.0, 3.0, np.array([27.0, 81.0])),
        ],
        _temperature_for,
        "the gap is at most epsilon C sum log n. Enough, and often more careful than need be.",
        [
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
        "some results differ; try one word with C = 1 and 27 labellings.",
    )


def _cooler(p: np.ndarray, epsilon: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return softmax(np.log(p) / epsilon)


@check
def check_cooler(answer: Any) -> Verdict:
    """Check a function ``cooler(p, epsilon)``: a distribution at temperature 1, taken to epsilon.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_cooler(lambda p, epsilon: p ** (1 / epsilon))
    Not quite: divide by the sum: probabilities add up to 1.
    """
    verdict = judge_function(
        answer,
        [
            (np.array([0.5, 0.3, 0.2]), 0.5),
            (np.array([0.1, 0.0, 0.6, 0.3]), 0.2),
            (np.array([0.7, 0.2, 0.1]), 4.0),
        ],
        _cooler,
        "p^(1/epsilon), normalised: no scores are needed to change the temperature.",
        [
            (
                lambda p, epsilon: p ** (1 / epsilon),
                "divide by the sum: probabilities add up to 1.",
            ),
            (
                lambda p, epsilon: p**epsilon / np.sum(p**epsilon),
                "the exponent is 1/epsilon: a small epsilon must sharpen, yours flattens.",
            ),
            (
                lambda p, epsilon: softmax(p / epsilon),
                "probabilities are not scores: their logarithms are, up to a constant.",
            ),
            (
                lambda p, epsilon: p,
                "that is p itself; nothing has been cooled.",
            ),
            (
                lambda p, epsilon: (p == p.max()) / np.sum(p == p.max()),
                "that is the limit at epsilon = 0, not the way there.",
            ),
        ],
        "some results differ; at epsilon = 1/2 the probabilities are squared and normalised.",
    )
    if verdict[0] and not _survives_cold(answer):
        return False, (
            "right while it is mild, but at epsilon = 0.001 all powers underflow to 0; divide p by "
            "its largest entry first, or take logarithms."
        )
    return verdict


def _survives_cold(answer: Any) -> bool:
    p = np.array([0.3, 0.3, 0.4, 0.0])
    with np.errstate(all="ignore"):
        return bool(np.allclose(answer(p, 1e-3), [0, 0, 1, 0]))


def _soft_max(values: np.ndarray, epsilon: float, axis: int | None = None) -> Any:
    if epsilon == 0:
        return values.max(axis=axis)
    return epsilon * logsumexp(values / epsilon, axis=axis)


def _forward(node: np.ndarray, edge: np.ndarray, epsilon: float) -> float:
    below = node[0]
    for here in node[1:]:
        below = here + _soft_max(below[:, None] + edge, epsilon, axis=0)
    return float(_soft_max(below, epsilon))


def _with_loss(node: np.ndarray, y: np.ndarray) -> np.ndarray:
    return node + (np.arange(node.shape[1]) != np.asarray(y)[:, None])


def _score(node: np.ndarray, edge: np.ndarray, y: np.ndarray) -> float:
    y = np.asarray(y)
    return float(node[np.arange(len(y)), y].sum() + edge[y[:-1], y[1:]].sum())


def _soft_hinge(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    return _forward(_with_loss(node, y), edge, epsilon) - _score(node, edge, y)


def _words(epsilons: Sequence[float], scale: float = 2.0) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(10)
    shapes = [(4, 3), (2, 5), (6, 2)]
    return [
        (
            rng.normal(scale=scale, size=(t, k)),
            rng.normal(scale=scale, size=(k, k)),
            rng.integers(k, size=t),
            epsilon,
        )
        for (t, k), epsilon in zip(shapes, epsilons, strict=True)
    ]


@check
def check_soft_hinge(answer: Any) -> Verdict:
    """Check a function ``soft_hinge(node, edge, y, epsilon)``: the loss of a word at a temperature.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_soft_hinge(lambda node, edge, y, epsilon: node.max(axis=1).sum())
    Not quite: some results differ; try one letter, where edge has no say, on paper.
    """
    verdict = judge_function(
        answer,
        _words((1.0, 0.4, 2.5)),
        _soft_hinge,
        "one recursion, from the CRF's log-loss to M3N's hinge.",
        [
            (
                lambda node, edge, y, epsilon: (
                    _forward(node, edge, epsilon) - _score(node, edge, y)
                ),
                "the Hamming loss is missing: add 1 to all wrong labels of `node`.",
            ),
            (
                lambda node, edge, y, epsilon: _forward(_with_loss(node, y), edge, epsilon),
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
                    _forward(_with_loss(node, y) / epsilon, edge / epsilon, 1.0)
                    - _score(node, edge, y)
                ),
                "the log-partition of scores over epsilon has to be multiplied by epsilon again.",
            ),
            (
                lambda node, edge, y, epsilon: (
                    _forward(_with_loss(node, y), edge.T, epsilon) - _score(node, edge, y)
                ),
                "edge[a, b] is for a before b; somewhere the table is used the other way round.",
            ),
            (
                lambda node, edge, y, epsilon: (
                    _soft_max(_with_loss(node, y), epsilon, axis=1).sum() - _score(node, edge, y)
                ),
                "the letters are not independent: `edge` belongs into the recursion.",
            ),
        ],
        "some results differ; try one letter, where edge has no say, on paper.",
    )
    return _at_the_ends(answer) if verdict[0] else verdict


def _at_the_ends(answer: Any) -> Verdict:
    """Judge what is right at mild temperatures where it is cold, and where it is zero."""
    for epsilons, hint in (
        ((1e-3, 1e-4, 1e-3), "but e^(score / 0.001) overflows; take the largest out first."),
        ((0.0, 0.0, 0.0), "but at epsilon = 0 it has to return the hinge loss."),
    ):
        cases = _words(epsilons)
        try:
            with np.errstate(all="ignore"):
                given = [float(answer(*case)) for case in cases]
        except ArithmeticError:
            given = [np.nan]
        if len(given) != len(cases) or not np.allclose(given, [_soft_hinge(*c) for c in cases]):
            return False, f"right where it is mild, {hint}"
    return True, "one recursion, from the CRF's log-loss to M3N's hinge, at every temperature."
