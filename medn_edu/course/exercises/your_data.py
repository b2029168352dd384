"""Checks of the exercises of your-data."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.course.exercises.declarations import (
    NOT_CALLABLE,
    NOTHING_RETURNED,
    Function,
    Judged,
)

_LABELS = "SBMMMMMMME"
_MISLABELLED = {
    "S" + _LABELS: "the space is no letter and has no label: it is what we look for.",
    "S BMMMMMMME": "the space is no letter and has no label: it is what we look for.",
    "BBMMMMMMME": "a word of one letter is S: it begins and ends at once.",
    "EBMMMMMMME": "a word of one letter is S: it begins and ends at once.",
    "SBMMMMMMMM": "the last letter of a word is E.",
    "SMMMMMMMME": "the first letter of a word is B.",
    "BMMMMMMMME": "that is one word of ten letters; where does the second begin?",
    "BMMMMMMME": "that is the second word; the letter `a` is a word, too.",
    _LABELS.lower(): "labels are told apart as written: capital letters, please.",
}


def _judge_labels(answer: Any) -> str | None:
    if not isinstance(answer, str | list | tuple) or not all(isinstance(a, str) for a in answer):
        return "expected a text such as 'BME'."
    given = "".join(answer)
    if given == _LABELS:
        return None
    if given in _MISLABELLED:
        return _MISLABELLED[given]
    if len(given) != len(_LABELS):
        return f"ten letters need ten labels; these are {len(given)}."
    return "some labels differ; write the letters in a row and a label under each."


check_bmes = Judged(
    right=_LABELS, judge=_judge_labels, mistakes=[*_MISLABELLED, "SBMMMMMME", "SBMMMMMMEE"]
)


def _spacing(before: str = "", after: str = "") -> Callable[[str, Sequence[str]], str]:
    def text(letters: str, labels: Sequence[str]) -> str:
        """Put spaces before and after the letters with some labels."""
        pairs = zip(letters, labels, strict=True)
        return "".join(" " * (t in before) + a + " " * (t in after) for a, t in pairs).strip()

    return text


_spaces = _spacing(before="BS")
_TEXTS = [
    ("alabelling", "SBMMMMMMME"),
    ("thebestpath", "BMEBMMEBMME"),
    ("asaway", "BESBME"),
    ("isaaxb", "BESSSS"),
    ("word", "BMME"),
]
_MISSPACED = [
    (
        lambda letters, labels: " " + _spaces(letters, labels),
        "the words are right; away with the space at the beginning or the end.",
    ),
    (_spacing(before="B"), "S begins a word as well."),
    (_spacing(before="S"), "B begins a word as well."),
    (_spacing(after="E"), "S ends a word as well."),
    (_spacing(after="B"), "a space belongs *before* each B, not after it."),
    (
        lambda letters, labels: letters,
        "there is no space in it; one belongs before each B and each S but the first.",
    ),
]


def _judge_spaces(answer: Any) -> str | None:
    if not callable(answer):
        return NOT_CALLABLE
    given = [answer(*case) for case in _TEXTS]
    if any(value is None for value in given):
        return NOTHING_RETURNED
    right = [_spaces(*case) for case in _TEXTS]
    if not all(isinstance(value, str) for value in given):
        if [list(value) for value in given] == [text.split() for text in right]:
            return "the words are right; join them to one text with spaces between."
        return "expected a text: the letters with spaces between the words."
    if given == right:
        return None
    for mistaken, hint in _MISSPACED:
        if [value.strip() for value in given] == [mistaken(*case).strip() for case in _TEXTS]:
            return hint
    return "some texts differ; try spaces('isaaxb', 'BESSSS'), which is 'is a a x b'."


check_spaces = Judged(
    right=_spaces,
    judge=_judge_spaces,
    mistakes=[
        *(mistaken for mistaken, _ in _MISSPACED),
        lambda letters, labels: _spaces(letters, labels).split(),
        lambda letters, labels: " ".join(letters),
        lambda letters, labels: len(letters),
    ],
)


def _judge_folds(answer: Any) -> str | None:
    if not callable(answer):
        return NOT_CALLABLE
    cases = [
        (["eva", "eva", "bo", "bo", "bo", "ida", "eva", "jo", "ida", "max"], 2),
        (["p3", "p1", "p3", "p2", "p2", "p4", "p1", "p5", "p6", "p6", "p7"], 3),
        (["b", "a", "b", "c", "a", "c", "c", "c"], 3),
        (["d2", "d4", "d8", "d2"], 3),
        (["x0", "x4", "x8", "x4", "y0"], 4),
    ]
    complaints = (_complaint(answer(list(groups), k), groups, k) for groups, k in cases)
    return next((complaint for complaint in complaints if complaint is not None), None)


def _complaint(given: Any, groups: Sequence[str], k: int) -> str | None:
    """Say what is wrong with the folds of samples, if anything."""
    if given is None:
        return "your function returns None; does it end in `return ...`?"
    if isinstance(given, dict):
        return "that is a fold for each group; return one for each sample."
    if np.ndim(given) != 1 or len(given) != len(groups):
        return f"expected {len(groups)} numbers for {len(groups)} samples: the fold of each."
    fold_of = [int(fold) for fold in given]
    if sorted(set(fold_of)) == list(range(1, k + 1)):
        return "folds are numbered from 0 to k - 1."
    pairs = list(zip(groups, fold_of, strict=True))
    runs = [(group, list(run)) for group, run in itertools.groupby(pairs, key=lambda p: p[0])]
    whole_runs = all(len(set(run)) == 1 for _, run in runs)
    again = {group for group, n in Counter(group for group, _ in runs).items() if n > 1}
    torn = {group for group, n in Counter(group for group, _ in set(pairs)).items() if n > 1}
    rules = [
        (
            torn and torn <= again and whole_runs,
            "a group that comes back later is in another fold; look it up, do not start anew.",
        ),
        (torn, "a group is in two folds: its samples train and test."),
        (len(set(fold_of)) == 1, "all samples are in one fold: nothing is left to train on."),
        (len(set(fold_of)) > k, f"with k = {k} there must be {k} folds; several groups share one."),
        (set(fold_of) < set(range(k)), "a fold may stay empty: number the groups first."),
        (set(fold_of) != set(range(k)), f"with k = {k} expected folds 0 to {k - 1}, none empty."),
    ]
    return next((complaint for broken, complaint in rules if broken), None)


def _folds(groups: Sequence[str], k: int) -> list[int]:
    places: dict[str, int] = {}
    return [places.setdefault(group, len(places)) % k for group in groups]


def _folds_of_runs(groups: Sequence[str], k: int) -> list[int]:
    runs = enumerate(itertools.groupby(groups))
    return [number % k for number, (_, run) in runs for _ in run]


check_group_folds = Judged(
    right=_folds,
    judge=_judge_folds,
    mistakes=[
        lambda groups, k: [i % k for i in range(len(groups))],
        _folds_of_runs,
        lambda groups, k: dict(zip(groups, _folds(groups, k), strict=True)),
        lambda groups, k: [fold + 1 for fold in _folds(groups, k)],
        lambda groups, k: [0] * len(groups),
        lambda groups, k: _folds(groups, len(groups)),
        lambda groups, k: [sum(map(ord, group)) % k for group in groups],
        lambda groups, k: [k * (fold > 0) for fold in _folds(groups, k)],
        lambda groups, k: [np.flatnonzero(np.array(groups) == g) for g in sorted(set(groups))],
    ],
)


def _window(x: np.ndarray, reach: int) -> np.ndarray:
    padded = np.pad(x, ((reach, reach), (0, 0)))
    return np.hstack([padded[k : k + len(x)] for k in range(2 * reach + 1)])


def _repeated(x: np.ndarray, reach: int) -> np.ndarray:
    places = [np.clip(np.arange(len(x)) + k, 0, len(x) - 1) for k in range(-reach, reach + 1)]
    return np.hstack([x[place] for place in places])


class _Dense(Function):
    def _complaint(self, answer: Any) -> str | None:
        if callable(answer) and sp.issparse(answer(np.eye(2), 1)):
            return "that is a sparse matrix; x is a dense array, so return one."
        return super()._complaint(answer)


rng = np.random.default_rng(16)
_SHAPES = ((5, 2, 1), (6, 3, 2), (1, 2, 2), (3, 2, 3), (4, 3, 0))
check_window = _Dense(
    cases=[(rng.integers(1, 10, (n, d)).astype(float), r) for n, d, r in _SHAPES],
    right=_window,
    mistakes={
        "x_itself": lambda x, reach: x,
        "rolled": lambda x, reach: np.hstack(
            [np.roll(x, -k, axis=0) for k in range(-reach, reach + 1)]
        ),
        "repeated": _repeated,
        "turned_round": lambda x, reach: _window(x[::-1], reach)[::-1],
        "ends_missing": lambda x, reach: _window(x, reach)[reach : len(x) - reach],
        "reach_one": lambda x, reach: _window(x, 1),
        "rows_after_missing": lambda x, reach: _window(x, reach)[:, : (reach + 1) * x.shape[1]],
        "column_by_column": lambda x, reach: np.hstack([_window(c[:, None], reach) for c in x.T]),
    },
)
