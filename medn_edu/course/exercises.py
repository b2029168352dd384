"""Checks of the notebooks' exercises.

A check prints one line and never raises, whatever it is given: *not yet* for an untouched stub,
*right* with the reason, or *not quite* with a hint at the mistake it recognises.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "check_best_path",
    "check_count_labellings",
    "check_error_share",
    "check_labelling_score",
    "check_words_right",
]

Verdict = tuple[bool, str]


def _check(judge: Callable[[Any], Verdict]) -> Callable[[Any], None]:
    """Turn a judge of answers into a check that prints its verdict and never raises."""

    @functools.wraps(judge)
    def check(answer: Any) -> None:
        if answer is None:
            print("Not yet: put your answer in place of None and run the cell again.")
            return
        try:
            right, reason = judge(answer)
        except (Exception, SystemExit) as error:
            right, reason = False, f"it stopped with {type(error).__name__}: {error}"
        print(f"Right: {reason}" if right else f"Not quite: {reason}")

    return check


def _number(answer: Any, right: float, praise: str, mistakes: dict[float, str]) -> Verdict:
    """Compare a number with the right one and with what typical mistakes give."""
    try:
        value = float(answer)
    except (TypeError, ValueError):
        return False, "expected a number."
    if math.isclose(value, right, rel_tol=5e-3):
        return True, praise
    for wrong, hint in mistakes.items():
        if math.isclose(value, wrong, rel_tol=5e-3):
            return False, hint
    return False, "that is another number; try the hints."


def _function(
    answer: Any,
    cases: Sequence[tuple[Any, ...]],
    right: Callable[..., Any],
    praise: str,
    mistakes: Sequence[tuple[Callable[..., Any], str]],
) -> Verdict:
    """Compare a function with the right one on cases, and with functions that make mistakes."""
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    given = [answer(*(_copy(argument) for argument in case)) for case in cases]
    if any(value is None for value in given):
        return False, "your function returns None; does it end in `return ...`?"
    if _same(given, [right(*case) for case in cases]):
        return True, praise
    for mistaken, hint in mistakes:
        if _same(given, [mistaken(*case) for case in cases]):
            return False, hint
    return False, "some results differ; try it on a word of two letters, on paper."


def _copy(argument: Any) -> Any:
    return argument.copy() if hasattr(argument, "copy") else argument


def _same(given: Sequence[Any], expected: Sequence[Any]) -> bool:
    pairs = zip(given, expected, strict=True)
    return all(np.shape(a) == np.shape(b) and bool(np.allclose(a, b)) for a, b in pairs)


# ---------------------------------------------------------------------------------------------
# start-here


@_check
def check_count_labellings(answer: Any) -> Verdict:
    """Check how many labellings a word of five digits has.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_count_labellings(50)
    Not quite: labels add up only if you choose *one* letter; here every letter has a label.
    """
    return _number(
        answer,
        10**5,
        "ten choices, five times over: 10^5. Searching them one by one ends at long words.",
        {
            50: "labels add up only if you choose *one* letter; here every letter has a label.",
            5**10: "base and exponent are swapped: each of *five* digits has *ten* choices.",
            10 * 9 * 8 * 7 * 6: "a digit may come twice, so the choices do not become fewer.",
        },
    )


def _score(node: np.ndarray, edge: np.ndarray, labels: Sequence[int]) -> float:
    ink = sum(node[t, label] for t, label in enumerate(labels))
    return float(ink + sum(edge[a, b] for a, b in itertools.pairwise(labels)))


def _chain_cases(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    shapes = [(4, 3), (3, 4), (2, 3), (5, 2), (4, 3), (1, 3)]
    return [(rng.normal(size=(n, k)), 1.5 * rng.normal(size=(k, k))) for n, k in shapes]


@_check
def check_labelling_score(answer: Any) -> Verdict:
    """Check a function ``score(node, edge, labels)``.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> def score(node, edge, labels):
    ...     return sum(node[t, label] for t, label in enumerate(labels))
    >>> check_labelling_score(score)
    Not quite: the transitions are missing; without them every letter is read alone.
    """
    rng = np.random.default_rng(1)
    cases = [(n, e, rng.integers(n.shape[1], size=n.shape[0])) for n, e in _chain_cases()]
    return _function(
        answer,
        cases,
        _score,
        "the letters' potentials plus one transition per pair of neighbours: F(x, y; w).",
        [
            (
                lambda n, e, y: _score(n, 0 * e, y),
                "the transitions are missing; without them every letter is read alone.",
            ),
            (
                lambda n, e, y: _score(n, e.T, y),
                "edge is [label before, label after]; yours is the other way round.",
            ),
            (
                lambda n, e, y: _score(n, e, y) + e[y[-1], y[0]],
                "a word of n letters has n - 1 transitions; yours runs from the last to the first.",
            ),
            (lambda n, e, y: _score(0 * n, e, y), "the letters' own potentials are missing."),
        ],
    )


# ---------------------------------------------------------------------------------------------
# ocr-study


@_check
def check_words_right(answer: Any) -> Verdict:
    """Check the share of eight-letter words read without error, at 14 % independent letter errors.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_words_right(0.86)
    Not quite: that is the share of *letters* read right; a word needs all eight of them.
    """
    return _number(
        answer,
        0.86**8,
        "0.86^8 is 0.30. Real errors come in clumps, so more words are right than that.",
        {
            0.86: "that is the share of *letters* read right; a word needs all eight of them.",
            1 - 0.86**8: "that is the share of words with *some* error.",
            1 - 8 * 0.14: "probabilities of errors do not add up: this one is below zero.",
            0.14**8: "that is the share of words in which *every* letter is wrong.",
        },
    )


@_check
def check_error_share(answer: Any) -> Verdict:
    """Check a function ``error_share(true, predicted)`` over words of different lengths.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_error_share(lambda true, predicted: 0.5)
    Not quite: some results differ; try it on a word of two letters, on paper.
    """
    cases = [
        (["cat", "at", "strange"], ["cat", "it", "strings"]),
        (["on", "nonsense"], ["in", "nonsense"]),
        (["a", "bcd"], ["b", "bxd"]),
    ]

    def wrong(true: Sequence[str], predicted: Sequence[str]) -> list[list[bool]]:
        pairs = zip(true, predicted, strict=True)
        return [[a != b for a, b in zip(*pair, strict=True)] for pair in pairs]

    def share(true: Sequence[str], predicted: Sequence[str]) -> float:
        return float(np.mean(np.concatenate(wrong(true, predicted))))

    return _function(
        answer,
        cases,
        share,
        "wrong letters of all words over all letters, so long words count for more.",
        [
            (
                lambda true, given: np.mean([np.mean(word) for word in wrong(true, given)]),
                "you average the words' shares; then a letter of a short word counts for more.",
            ),
            (
                lambda true, given: np.mean([any(word) for word in wrong(true, given)]),
                "that is the share of *words* with an error; the papers count letters.",
            ),
            (
                lambda true, given: 1 - share(true, given),
                "that is the share of letters read right.",
            ),
            (
                lambda true, given: sum(sum(word) for word in wrong(true, given)),
                "that is the *number* of wrong letters; divide by the number of letters.",
            ),
        ],
    )


def _enumerated_best(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    labellings = itertools.product(range(node.shape[1]), repeat=node.shape[0])
    return max(labellings, key=lambda labels: _score(node, edge, labels))


def _greedy(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    path = [int(node[0].argmax())]
    for here in node[1:]:
        path.append(int((here + edge[path[-1]]).argmax()))
    return tuple(path)


def _best_prefix_ends(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    """Viterbi without going back: at each letter the label where the best prefix ends."""
    best, path = node[0], [int(node[0].argmax())]
    for here in node[1:]:
        best = here + (best[:, None] + edge).max(axis=0)
        path.append(int(best.argmax()))
    return tuple(path)


@_check
def check_best_path(answer: Any) -> Verdict:
    """Check a function ``best_path(node, edge)``, Viterbi's algorithm.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_best_path(lambda node, edge: node.argmax(axis=1))
    Not quite: that is the best label of each letter alone; edge must play a part.
    """
    return _function(
        answer,
        [*_chain_cases(2), *_chain_cases(3)],
        _enumerated_best,
        "it agrees with trying every labelling, at the price of n k^2 additions.",
        [
            (
                lambda node, edge: node.argmax(axis=1),
                "that is the best label of each letter alone; edge must play a part.",
            ),
            (
                _greedy,
                "that is greedy: it never goes back. Keep, per label, the best path ending there.",
            ),
            (
                _best_prefix_ends,
                "the scores are right; now walk *back* from the best end along the back-pointers.",
            ),
            (
                lambda node, edge: _enumerated_best(node, edge.T),
                "edge is [label before, label after]; yours is the other way round.",
            ),
        ],
    )
