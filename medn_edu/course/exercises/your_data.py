"""Checks of the exercises of your-data."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import NOTHING_RETURNED, Judged

_TAGS = "ADP DET NOUN PRON VERB NOUN PUNCT"
_KNOWN = ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON"]
_KNOWN += ["PROPN", "PUNCT", "SCONJ", "VERB"]
_OTHER_NAMES = {
    "PREP": "a preposition is ADP",
    "ARTICLE": "an article is DET",
    "PRONOUN": "a pronoun is PRON",
    "CONJ": "a conjunction is CCONJ or SCONJ",
}
_MISTAGGED = {
    "ADP DET NOUN PRON AUX VERB PUNCT": "with AUX VERB the sentence says that they are able to "
    "fish. But this is a factory: what do they put into cans?",
    "ADP DET NOUN PRON AUX NOUN PUNCT": "after an auxiliary comes a verb, and NOUN isn't one.",
    "ADP DET NOUN PRON VERB VERB PUNCT": "`can` is right; what is it that they can?",
    "ADP DET NOUN PRON NOUN NOUN PUNCT": "then the sentence has no verb; what do they do?",
    "ADP PRON NOUN PRON VERB NOUN PUNCT": "`this` stands before its noun, so it is DET.",
    "ADP DET NOUN NOUN VERB NOUN PUNCT": "`they` stands for a noun, but is PRON.",
    "ADP DET NOUN PRON VERB NOUN": "the full stop is a token, too, and has a tag.",
}


def _judge_tags(answer: Any) -> str | None:
    text = answer if isinstance(answer, str) else " ".join(answer)
    given = text.upper().replace(",", " ").split()
    text = " ".join(given)
    if text == _TAGS:
        return None
    if text in _MISTAGGED:
        return _MISTAGGED[text]
    unknown = next((tag for tag in given if tag not in _KNOWN), None)
    if unknown is not None:
        meant = _OTHER_NAMES.get(unknown, f"the tags are {', '.join(_KNOWN)}")
        return f"{unknown[:20]} is not one of the tags; {meant}."
    if len(given) != 7:
        return f"seven tokens need seven tags; these are {len(given)}."
    return "some tags differ; write the words in a row and a tag under each."


check_tags = Judged(
    right=_TAGS,
    judge=_judge_tags,
    expected="a string such as 'PRON VERB PUNCT'",
    mistakes=[*_MISTAGGED, "DET NOUN", "PREP DET NOUN PRON VERB NOUN PUNCT", "X X X X X X X"],
)


def _judge_folds(answer: Any) -> str | None:
    cases = [
        (["eva", "eva", "bo", "bo", "bo", "ida", "eva", "jo", "ida", "max"], 2),
        (["p3", "p1", "p3", "p2", "p2", "p4", "p1", "p5", "p6", "p6", "p7"], 3),
        (["b", "a", "b", "c", "a", "c", "c", "c"], 3),
        (["d2", "d4", "d8", "d2"], 3),
        (["x0", "x4", "x8", "x4", "y0"], 4),
    ]
    complaints = (_complaint(answer(np.array(groups), k), groups, k) for groups, k in cases)
    return next((complaint for complaint in complaints if complaint is not None), None)


def _complaint(given: Any, groups: Sequence[str], k: int) -> str | None:
    """Say what is wrong with the folds of samples, if anything."""
    if given is None:
        return NOTHING_RETURNED
    if isinstance(given, dict):
        return "that is a fold for each group; return one for each sample."
    try:
        fold_of = [int(fold) for fold in given]
    except (TypeError, ValueError, OverflowError):
        fold_of = []
    if len(fold_of) != len(groups):
        return f"expected {len(groups)} numbers for {len(groups)} samples: the fold of each."
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
            "a group that comes back later gets another fold; look up the one it has.",
        ),
        (torn, "a group is in two folds, so its samples train *and* test."),
        (len(set(fold_of)) == 1, "all samples are in one fold, so nothing is left to train on."),
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


_CAUSES = "bdac"
_MISTAKEN_CAUSES = {
    "badc": "runs 2 and 3 both fail in training, but one of them is far from its optimum: which gap?",
    "bdca": "one part worse than *always NOUN* is a fault in that part; look at run 4 again.",
    "cdab": "no error at all on new topics is too good to be true; look at run 1 again.",
    "dbac": "run 1 has no error in training, so its weights are not held too small.",
    "adbc": "run 1 has a gap of 0.01, so it was not stopped early.",
}


def _judge_causes(answer: Any) -> str | None:
    given = "".join("".join(answer).lower().replace(",", " ").split())
    if given == _CAUSES:
        return None
    if given in _MISTAKEN_CAUSES:
        return _MISTAKEN_CAUSES[given]
    if sorted(given) != sorted(_CAUSES):
        return "expected each of the letters a, b, c and d once, in the order of the runs."
    right = sum(a == b for a, b in zip(given, _CAUSES, strict=True))
    begin = "begin with the run that has no unseen word" if given[0] != "b" else "look at the gap"
    return f"{right} of 4 runs have their cause; {begin}."


check_causes = Judged(
    right=_CAUSES,
    judge=_judge_causes,
    expected="a string of four letters, such as 'abcd'",
    mistakes=[*_MISTAKEN_CAUSES, "abcd", "bb"],
)

_WORDS = ["Lisbon", "fish", "42", "1,200", "McDonald", "e-mail", "USA", "'s", "3rd", "...", "Zoë"]


def _signs(word: str) -> str:
    """Return a sign for each character."""
    signs = [
        "X" if a.isupper() else "x" if a.islower() else "d" if a.isdigit() else a for a in word
    ]
    return "".join(signs)


def _shape(word: str) -> str:
    return "".join(sign for sign, _ in itertools.groupby(_signs(word)))


_MISSHAPEN: list[tuple[Callable[[str], str], str]] = [
    (_signs, "the characters are right; where one repeats, keep it once."),
    (
        lambda word: "".join(dict.fromkeys(_signs(word))),
        "only neighbours that are equal become one: McDonald is XxXx.",
    ),
    (
        lambda word: "".join(a for a, _ in itertools.groupby(_signs(word).replace("d", "x"))),
        "a digit becomes d.",
    ),
    (lambda word: _shape(word.lower()), "capital letters become X."),
    (
        lambda word: "".join(a for a in _shape(word) if a.isalpha()),
        "other characters stay as they are: e-mail is x-x.",
    ),
    (lambda word: _shape(word).lower(), "a capital letter becomes a capital X."),
]


def _judge_shape(answer: Any) -> str | None:
    given = [answer(word) for word in _WORDS]
    if any(value is None for value in given):
        return NOTHING_RETURNED
    if not all(isinstance(value, str) for value in given):
        lists = all(isinstance(value, list) for value in given)
        if lists and given == [list(_shape(word)) for word in _WORDS]:
            return "the characters are right; join them to one string."
        return "expected a string for each word."
    for mistaken, hint in _MISSHAPEN:
        if given == [mistaken(word) for word in _WORDS]:
            return hint
    pairs = zip(_WORDS, given, strict=True)
    wrong = next((pair for pair in pairs if pair[1] != _shape(pair[0])), None)
    return wrong and f"shape({wrong[0]!r}) is {_shape(wrong[0])!r}, but yours is {wrong[1][:20]!r}."


check_shape = Judged(
    right=_shape,
    judge=_judge_shape,
    mistakes=[
        *(mistaken for mistaken, _ in _MISSHAPEN),
        lambda word: list(_shape(word)),
        lambda word: len(word),
        lambda word: word,
    ],
)
