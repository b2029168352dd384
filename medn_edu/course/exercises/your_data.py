"""Checks of the exercises of your-data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.course.exercises._judging import Verdict, check, judge_function


@check
def check_bmes(answer: Any) -> Verdict:
    """Check the labels of the ten letters of "a labelling".

    Parameters
    ----------
    answer : object
        The learner's text, one of B, M, E and S for each letter.

    Examples
    --------
    >>> check_bmes("BBMMMMMMME")
    Not quite: a word of one letter is S: it begins and ends at once.
    """
    right = "SBMMMMMMME"
    if not isinstance(answer, str | list | tuple) or not all(isinstance(a, str) for a in answer):
        return False, "expected a text such as 'BME'."
    given = "".join(answer)
    mistakes = {
        "S" + right: "the space is no letter and has no label: it is what we look for.",
        "S BMMMMMMME": "the space is no letter and has no label: it is what we look for.",
        "BBMMMMMMME": "a word of one letter is S: it begins and ends at once.",
        "EBMMMMMMME": "a word of one letter is S: it begins and ends at once.",
        "SBMMMMMMMM": "the last letter of a word is E.",
        "SMMMMMMMME": "the first letter of a word is B.",
        "BMMMMMMMME": "that is one word of ten letters; where does the second begin?",
        "BMMMMMMME": "that is the second word; the letter `a` is a word, too.",
        right.lower(): "labels are told apart as written: capital letters, please.",
    }
    if given == right:
        return True, "ten letters, ten labels. From them the words can be put together again."
    if given in mistakes:
        return False, mistakes[given]
    if len(given) != len(right):
        return False, f"ten letters need ten labels; these are {len(given)}."
    return False, "some labels differ; write the letters in a row and a label under each."


def _spaces(letters: str, labels: Sequence[str]) -> str:
    pairs = zip(letters, labels, strict=True)
    return "".join(" " * (t in "BS") + letter for letter, t in pairs).strip()


def _before(kinds: str) -> Callable[[str, Sequence[str]], str]:
    def text(letters: str, labels: Sequence[str]) -> str:
        pairs = zip(letters, labels, strict=True)
        return "".join(" " * (t in kinds) + letter for letter, t in pairs).strip()

    return text


def _after(kinds: str) -> Callable[[str, Sequence[str]], str]:
    def text(letters: str, labels: Sequence[str]) -> str:
        pairs = zip(letters, labels, strict=True)
        return "".join(letter + " " * (t in kinds) for letter, t in pairs).strip()

    return text


@check
def check_spaces(answer: Any) -> Verdict:
    """Check a function ``spaces(letters, labels)`` that puts the spaces back.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_spaces(lambda letters, labels: letters)
    Not quite: there is no space in it; one belongs before each B and each S but the first.
    """
    cases = [
        ("alabelling", "SBMMMMMMME"),
        ("thebestpath", "BMEBMMEBMME"),
        ("asaway", "BESBME"),
        ("isaaxb", "BESSSS"),
        ("word", "BMME"),
    ]
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    given = [answer(*case) for case in cases]
    if any(value is None for value in given):
        return False, "your function returns None; does it end in `return ...`?"
    right = [_spaces(*case) for case in cases]
    if all(isinstance(value, str) for value in given):
        return _judge_texts(given, right, cases)
    if [list(value) for value in given] == [text.split() for text in right]:
        return False, "the words are right; join them to one text with spaces between."
    return False, "expected a text: the letters with spaces between the words."


def _judge_texts(
    given: list[str], right: list[str], cases: Sequence[tuple[str, Sequence[str]]]
) -> Verdict:
    if given == right:
        return True, "no word has been looked up: labels alone say where words begin."
    rules = [
        (right, "the words are right; away with the space at the beginning or the end."),
        ([_before("B")(*case) for case in cases], "S begins a word as well."),
        ([_before("S")(*case) for case in cases], "B begins a word as well."),
        ([_after("E")(*case) for case in cases], "S ends a word as well."),
        ([_after("B")(*case) for case in cases], "a space belongs *before* each B, not after it."),
        (
            [letters for letters, _ in cases],
            "there is no space in it; one belongs before each B and each S but the first.",
        ),
    ]
    stripped = [value.strip() for value in given]
    for wrong, hint in rules:
        if stripped == wrong:
            return False, hint
    return False, "some texts differ; try spaces('isaaxb', 'BESSSS'), which is 'is a a x b'."


@check
def check_group_folds(answer: Any) -> Verdict:
    """Check a function ``folds(groups, k)``: a fold for each sample, no group in two of them.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_group_folds(lambda groups, k: np.arange(len(groups)) % k)
    Not quite: a group is in two folds: its samples train and test.
    """
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    cases = [
        (["eva", "eva", "bo", "bo", "bo", "ida", "eva", "jo", "ida", "max"], 2),
        (["p3", "p1", "p3", "p2", "p2", "p4", "p1", "p5", "p6", "p6", "p7"], 3),
        (["b", "a", "b", "c", "a", "c", "c", "c"], 3),
        (["d2", "d4", "d8", "d2"], 3),
        (["x0", "x4", "x8", "x4", "y0"], 4),
    ]
    for groups, k in cases:
        complaint = _complaint(answer(list(groups), k), groups, k)
        if complaint is not None:
            return False, complaint
    return True, "who is in the test fold has not been seen in training, not even once."


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
    pairs = set(zip(groups, fold_of, strict=True))
    again = {g for g in groups if list(groups).count(g) != _longest_run(groups, g)}
    torn = {group for group, _ in pairs if sum(g == group for g, _ in pairs) > 1}
    rules = [
        (
            torn and torn <= again and _whole_runs(groups, fold_of),
            "a group that comes back later is in another fold; look it up, do not start anew.",
        ),
        (torn, "a group is in two folds: its samples train and test."),
        (len(set(fold_of)) == 1, "all samples are in one fold: nothing is left to train on."),
        (len(set(fold_of)) > k, f"with k = {k} there must be {k} folds; several groups share one."),
        (set(fold_of) < set(range(k)), "a fold may stay empty: number the groups first."),
        (set(fold_of) != set(range(k)), f"with k = {k} expected folds 0 to {k - 1}, none empty."),
    ]
    return next((complaint for broken, complaint in rules if broken), None)


def _runs(groups: Sequence[str]) -> list[tuple[str, list[int]]]:
    numbered = itertools.groupby(range(len(groups)), key=lambda i: groups[i])
    return [(group, list(members)) for group, members in numbered]


def _longest_run(groups: Sequence[str], group: str) -> int:
    return max(len(members) for name, members in _runs(groups) if name == group)


def _whole_runs(groups: Sequence[str], fold_of: Sequence[int]) -> bool:
    """Tell whether neighbours of one group are always together."""
    return all(len({fold_of[i] for i in members}) == 1 for _, members in _runs(groups))


def _window(x: np.ndarray, reach: int) -> np.ndarray:
    padded = np.pad(x, ((reach, reach), (0, 0)))
    return np.hstack([padded[k : k + len(x)] for k in range(2 * reach + 1)])


def _rolled(x: np.ndarray, reach: int) -> np.ndarray:
    return np.hstack([np.roll(x, -k, axis=0) for k in range(-reach, reach + 1)])


def _repeated(x: np.ndarray, reach: int) -> np.ndarray:
    places = [np.clip(np.arange(len(x)) + k, 0, len(x) - 1) for k in range(-reach, reach + 1)]
    return np.hstack([x[place] for place in places])


def _backwards(x: np.ndarray, reach: int) -> np.ndarray:
    padded = np.pad(x, ((reach, reach), (0, 0)))
    return np.hstack([padded[k : k + len(x)] for k in range(2 * reach, -1, -1)])


def _by_column(x: np.ndarray, reach: int) -> np.ndarray:
    width = x.shape[1]
    columns = [_window(x[:, [j]], reach) for j in range(width)]
    return np.hstack(columns)


@check
def check_window(answer: Any) -> Verdict:
    """Check a function ``window(x, reach)``: each row next to the rows around it.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_window(lambda x, reach: x)
    Not quite: that is x itself; put the rows before and after next to each row.
    """
    rng = np.random.default_rng(16)
    shapes = ((5, 2, 1), (6, 3, 2), (1, 2, 2), (3, 2, 3), (4, 3, 0))
    cases = [(rng.integers(1, 10, (n, d)).astype(float), reach) for n, d, reach in shapes]
    if callable(answer) and sp.issparse(answer(np.eye(2), 1)):
        return False, "that is a sparse matrix; x is a dense array, so return one."
    return judge_function(
        answer,
        cases,
        _window,
        "the last sample's end and the next one's beginning never meet, as each sample has its own.",
        [
            (
                lambda x, reach: x,
                "that is x itself; put the rows before and after next to each row.",
            ),
            (
                _rolled,
                "np.roll goes round: the first row sees the last. Beyond the ends there are zeros.",
            ),
            (
                _repeated,
                "you repeat the first and the last row; beyond the ends there should be zeros.",
            ),
            (_backwards, "the order is turned round: earliest row first, latest row last."),
            (
                lambda x, reach: _window(x, reach)[reach : len(x) - reach],
                "rows are missing at the ends; every node keeps its row.",
            ),
            (
                lambda x, reach: _window(x, 1),
                "right for reach = 1 only; how many rows stand side by side?",
            ),
            (
                lambda x, reach: _window(x, reach)[:, : (reach + 1) * x.shape[1]],
                "rows after it are missing; the node may look both ways.",
            ),
            (_by_column, "whole rows, one after the other, not column by column."),
        ],
        "some results differ; window([[1], [2]], 1) is [[0, 1, 2], [1, 2, 0]].",
    )
