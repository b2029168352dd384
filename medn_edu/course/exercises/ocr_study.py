"""Checks of the exercises of ocr-study."""

from collections.abc import Sequence

import numpy as np

from medn_edu.course.exercises._shared import best_of_all, best_prefix_ends, chain_cases, greedy
from medn_edu.course.exercises.declarations import Function, Number

check_words_right = Number(
    right=0.86**8,
    mistakes={"some_error": 1 - 0.86**8, "probabilities_added": 1 - 8 * 0.14, "all_wrong": 0.14**8},
)


def _wrong(true: Sequence[str], predicted: Sequence[str]) -> list[list[bool]]:
    pairs = zip(true, predicted, strict=True)
    return [[a != b for a, b in zip(*pair, strict=True)] for pair in pairs]


def _share(true: Sequence[str], predicted: Sequence[str]) -> float:
    return float(np.mean(np.concatenate(_wrong(true, predicted))))


check_error_share = Function(
    cases=[
        (["cat", "at", "strange"], ["cat", "it", "strings"]),
        (["on", "nonsense"], ["in", "nonsense"]),
        (["a", "bcd"], ["b", "bxd"]),
    ],
    right=_share,
    mistakes={
        "mean_of_words": lambda true, given: np.mean(
            [np.mean(word) for word in _wrong(true, given)]
        ),
        "words": lambda true, given: np.mean([any(word) for word in _wrong(true, given)]),
        "letters_right": lambda true, given: 1 - _share(true, given),
        "number_of_letters": lambda true, given: sum(sum(word) for word in _wrong(true, given)),
    },
)

check_best_path = Function(
    cases=[*chain_cases(2), *chain_cases(3)],
    right=best_of_all,
    mistakes={
        "letters_alone": lambda node, edge: node.argmax(axis=1),
        "greedy": greedy,
        "best_prefix_ends": best_prefix_ends,
        "edge_transposed": lambda node, edge: best_of_all(node, edge.T),
    },
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
    cases=[
        ([0.5, 0.4, 0.42, 0.41, 0.43, 0.3], 3),
        ([0.5, 0.4, 0.42, 0.39, 0.43, 0.44, 0.45, 0.2], 2),
        ([0.6, 0.5, 0.4, 0.3, 0.31], 4),
        ([0.3, 0.35, 0.34, 0.36, 0.33, 0.1], 3),
        ([0.5, 0.45, 0.46, 0.44, 0.47, 0.43, 0.48, 0.49, 0.3], 2),
    ],
    right=_stop,
    mistakes={
        "whole_curve": lambda errors, patience: int(np.argmin(errors)),
        "no_patience": lambda errors, patience: _stop(errors, 1),
        "end_of_training": lambda errors, patience: min(
            _stop(errors, patience) + patience, len(errors) - 1
        ),
        "counted_from_one": lambda errors, patience: _stop(errors, patience) + 1,
        "error_itself": lambda errors, patience: errors[_stop(errors, patience)],
        "falls_in_a_row": _falls_in_a_row,
        "to_the_end": lambda errors, patience: len(errors) - 1,
    },
)
