"""Checks of the exercises of ocr-study."""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function, Number

check_words_right = Number(
    right=0.64**8,
    mistakes={"some_error": 1 - 0.64**8, "probabilities_added": 1 - 8 * 0.36, "all_wrong": 0.36**8},
)

check_below_the_bound = Choice(right="b")

check_many_zeros = Choice(right="d")


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

check_ten_times = Choice(right="c")

Words = Sequence[str]


def _apart(
    true: Words,
    predicted: Words,
    seen: Collection[str],
    share: Callable[[list[list[bool]]], float] = lambda wrong: float(
        np.mean(np.concatenate(wrong))
    ),
    by_reading: bool = False,
) -> list[float]:
    """Return a share of errors over the words that were seen, and over the others."""
    parts: dict[bool, list[list[bool]]] = {True: [], False: []}
    for word, read in zip(true, predicted, strict=True):
        known = (read if by_reading else word) in seen
        parts[known].append([a != b for a, b in zip(word, read, strict=True)])
    return [share(parts[known]) for known in (True, False)]


def _mean_of_words(wrong: list[list[bool]]) -> float:
    return float(np.mean([np.mean(word) for word in wrong]))


def _of_all_letters(true: Words, predicted: Words, seen: Collection[str]) -> list[float]:
    counts = _apart(true, predicted, seen, lambda wrong: float(sum(map(sum, wrong))))
    return [count / sum(map(len, true)) for count in counts]


check_seen_apart = Function(
    cases=[
        (["cat", "at", "strange", "on"], ["cat", "it", "strings", "at"], {"at", "cat"}),
        (["on", "nonsense", "a", "no"], ["in", "nonsence", "b", "on"], {"nonsense", "a", "on"}),
        (["a", "bcd", "ab"], ["a", "bxd", "bb"], {"a", "ab"}),
    ],
    right=_apart,
    mistakes={
        "swapped": lambda true, read, seen: _apart(true, read, seen)[::-1],
        "mean_of_words": lambda true, read, seen: _apart(true, read, seen, _mean_of_words),
        "words": lambda true, read, seen: _apart(
            true, read, seen, lambda wrong: float(np.mean([any(word) for word in wrong]))
        ),
        "letters_right": lambda true, read, seen: [1 - e for e in _apart(true, read, seen)],
        "number_of_letters": lambda true, read, seen: _apart(
            true, read, seen, lambda wrong: float(sum(map(sum, wrong)))
        ),
        "of_all_letters": _of_all_letters,
        "seen_by_reading": lambda true, read, seen: _apart(true, read, seen, by_reading=True),
    },
)
