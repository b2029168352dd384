"""Checks of the exercises of ocr-study."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from medn_edu.course.exercises._chains import chain_cases, chain_score
from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number


@check
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
    return judge_number(
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


@check
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

    return judge_function(
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
    return max(labellings, key=lambda labels: chain_score(node, edge, labels))


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


@check
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
    return judge_function(
        answer,
        [*chain_cases(2), *chain_cases(3)],
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


def _stop(errors: Sequence[float], patience: int) -> int:
    """Return the best of the passes that are made until `patience` in a row are no better."""
    best = 0
    for number, error in enumerate(errors):
        if error < errors[best]:
            best = number
        if number - best >= patience:
            break
    return best


def _where_it_ended(errors: Sequence[float], patience: int) -> int:
    return min(_stop(errors, patience) + patience, len(errors) - 1)


def _falls_in_a_row(errors: Sequence[float], patience: int) -> int:
    """Count passes that are worse than the one before, instead of worse than the best."""
    worse = 0
    for number in range(1, len(errors)):
        worse = worse + 1 if errors[number] >= errors[number - 1] else 0
        if worse == patience:
            return number - patience
    return int(np.argmin(errors))


@check
def check_early_stopping(answer: Any) -> Verdict:
    """Check a function ``stop(errors, patience)``: early stopping.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_early_stopping(lambda errors, patience: int(np.argmin(errors)))
    Not quite: that knows the whole curve; training ends before, and later passes are never made.
    """
    cases = [
        ([0.5, 0.4, 0.42, 0.41, 0.43, 0.3], 3),
        ([0.5, 0.4, 0.42, 0.39, 0.43, 0.44, 0.45, 0.2], 2),
        ([0.6, 0.5, 0.4, 0.3, 0.31], 4),
        ([0.3, 0.35, 0.34, 0.36, 0.33, 0.1], 3),
        ([0.5, 0.45, 0.46, 0.44, 0.47, 0.43, 0.48, 0.49, 0.3], 2),
    ]
    return judge_function(
        answer,
        cases,
        _stop,
        "a penalty does the same with a constant; both are chosen on words that do not test.",
        [
            (
                lambda errors, patience: int(np.argmin(errors)),
                "that knows the whole curve; training ends before, and later passes are never made.",
            ),
            (
                lambda errors, patience: _stop(errors, 1),
                "that loses patience at the first pass that is no better.",
            ),
            (
                _where_it_ended,
                "that is the pass at which training ends; keep the weights of the best one.",
            ),
            (
                lambda errors, patience: _stop(errors, patience) + 1,
                "passes are numbered from 0, like the places of a list.",
            ),
            (
                lambda errors, patience: errors[_stop(errors, patience)],
                "that is the error of the right pass; asked is its number.",
            ),
            (
                _falls_in_a_row,
                "compare with the best so far, not with the pass before: a curve may go up and down.",
            ),
            (
                lambda errors, patience: len(errors) - 1,
                "that trains to the end; the curve has risen by then.",
            ),
        ],
        "some results differ; stop([0.3, 0.2, 0.25, 0.1], 1) is 1: pass 2 is no better, pass 3 is not "
        "made.",
    )
