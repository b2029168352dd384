"""Checks of the exercises of ocr-study."""

from collections.abc import Sequence

import numpy as np

from medn_edu.course.exercises._shared import best_of_all, best_prefix_ends, chain_cases, greedy
from medn_edu.course.exercises.declarations import Function, Number

check_words_right = Number(
    "the share of eight-letter words read without error, at 14 % independent letter errors",
    right=0.86**8,
    praise="0.86^8 is 0.30. Real errors come in clumps, so more words are right than that.",
    mistakes={
        0.86: "that is the share of *letters* read right; a word needs all eight of them.",
        1 - 0.86**8: "that is the share of words with *some* error.",
        1 - 8 * 0.14: "probabilities of errors do not add up: this one is below zero.",
        0.14**8: "that is the share of words in which *every* letter is wrong.",
    },
)


def _wrong(true: Sequence[str], predicted: Sequence[str]) -> list[list[bool]]:
    pairs = zip(true, predicted, strict=True)
    return [[a != b for a, b in zip(*pair, strict=True)] for pair in pairs]


def _share(true: Sequence[str], predicted: Sequence[str]) -> float:
    return float(np.mean(np.concatenate(_wrong(true, predicted))))


check_error_share = Function(
    "error_share(true, predicted) over words of different lengths",
    cases=[
        (["cat", "at", "strange"], ["cat", "it", "strings"]),
        (["on", "nonsense"], ["in", "nonsense"]),
        (["a", "bcd"], ["b", "bxd"]),
    ],
    right=_share,
    praise="wrong letters of all words over all letters, so long words count for more.",
    mistakes=[
        (
            lambda true, given: np.mean([np.mean(word) for word in _wrong(true, given)]),
            "you average the words' shares; then a letter of a short word counts for more.",
        ),
        (
            lambda true, given: np.mean([any(word) for word in _wrong(true, given)]),
            "that is the share of *words* with an error; the papers count letters.",
        ),
        (lambda true, given: 1 - _share(true, given), "that is the share of letters read right."),
        (
            lambda true, given: sum(sum(word) for word in _wrong(true, given)),
            "that is the *number* of wrong letters; divide by the number of letters.",
        ),
    ],
)

check_best_path = Function(
    "best_path(node, edge), Viterbi's algorithm",
    cases=[*chain_cases(2), *chain_cases(3)],
    right=best_of_all,
    praise="it agrees with trying every labelling, at the price of n k^2 additions.",
    mistakes=[
        (
            lambda node, edge: node.argmax(axis=1),
            "that is the best label of each letter alone; edge must play a part.",
        ),
        (
            greedy,
            "that is greedy: it never goes back. Keep, per label, the best path ending there.",
        ),
        (
            best_prefix_ends,
            "the scores are right; now walk *back* from the best end along the back-pointers.",
        ),
        (
            lambda node, edge: best_of_all(node, edge.T),
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


def _falls_in_a_row(errors: Sequence[float], patience: int) -> int:
    """Count passes that are worse than the one before, instead of worse than the best."""
    worse = 0
    for number in range(1, len(errors)):
        worse = worse + 1 if errors[number] >= errors[number - 1] else 0
        if worse == patience:
            return number - patience
    return int(np.argmin(errors))


check_early_stopping = Function(
    "stop(errors, patience): early stopping",
    cases=[
        ([0.5, 0.4, 0.42, 0.41, 0.43, 0.3], 3),
        ([0.5, 0.4, 0.42, 0.39, 0.43, 0.44, 0.45, 0.2], 2),
        ([0.6, 0.5, 0.4, 0.3, 0.31], 4),
        ([0.3, 0.35, 0.34, 0.36, 0.33, 0.1], 3),
        ([0.5, 0.45, 0.46, 0.44, 0.47, 0.43, 0.48, 0.49, 0.3], 2),
    ],
    right=_stop,
    praise="a penalty does the same with a constant; both are chosen on words that do not test.",
    mistakes=[
        (
            lambda errors, patience: int(np.argmin(errors)),
            "that knows the whole curve; training ends before, and later passes are never made.",
        ),
        (
            lambda errors, patience: _stop(errors, 1),
            "that loses patience at the first pass that is no better.",
        ),
        (
            lambda errors, patience: min(_stop(errors, patience) + patience, len(errors) - 1),
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
    otherwise="some results differ; stop([0.3, 0.2, 0.25, 0.1], 1) is 1: pass 2 is no better, pass 3 "
    "is not made.",
)
