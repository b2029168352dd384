"""Checks of the exercises of your-data."""

import functools
import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from medn_edu import M3N, Forest, SequenceVectorizer, load_sentences
from medn_edu.course.exercises.declarations import NOTHING_RETURNED, Choice, Judged

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
    "fish. But this is a factory. What do they put into cans?",
    "ADP DET NOUN PRON AUX NOUN PUNCT": "after an auxiliary comes a verb, and a NOUN isn't one.",
    "ADP DET NOUN PRON VERB VERB PUNCT": "`can` is right. What is it that they put into cans?",
    "ADP DET NOUN PRON NOUN NOUN PUNCT": "then the sentence has no verb. What do they do?",
    "ADP PRON NOUN PRON VERB NOUN PUNCT": "`this` comes right before its noun, so it's a DET.",
    "ADP DET NOUN NOUN VERB NOUN PUNCT": "`they` replaces a noun, and that's what a PRON does.",
    "ADP DET NOUN PRON VERB NOUN": "the full stop is a token, too, and it has a tag.",
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
        return f"seven tokens need seven tags, but these are {len(given)}."
    return "some tags are wrong. Write the words in a row and put a tag under each."


check_tags = Judged(
    right=_TAGS,
    judge=_judge_tags,
    expected="a string such as 'PRON VERB PUNCT'",
    mistakes=[*_MISTAGGED, "DET NOUN", "PREP DET NOUN PRON VERB NOUN PUNCT", "X X X X X X X"],
)


check_leak = Choice(right="b")

_CAUSES = "bdac"
_MISTAKEN_CAUSES = {
    "badc": "runs 2 and 3 both fail in training, but one is far from its optimum. Compare gaps.",
    "bdca": "if the error is above that of *always NOUN*, the data are at fault. Look at run 4 again.",
    "cdab": "no error at all on new topics is too good to be true. Look at run 1 again.",
    "dbac": "run 1 has no error in training, so nothing holds its weights too small.",
    "adbc": "run 1 has a gap of 0.01, so it wasn't stopped early.",
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
    return f"{right} of 4 runs have the right cause; {begin}."


check_causes = Judged(
    right=_CAUSES,
    judge=_judge_causes,
    expected="a string of four letters, such as 'abcd'",
    mistakes=[*_MISTAKEN_CAUSES, "abcd", "bb"],
)


class _Tagger:
    """The chapter's M3N of nine topics, and what it says about the three of validation."""

    def __init__(self) -> None:
        text = load_sentences()
        names = list(dict.fromkeys(text.group))
        self.words, self.tags = text.data, text.target
        self.first, self.valid = (
            np.flatnonzero(np.isin(text.group, part)) for part in (names[:9], names[9:12])
        )
        rows = [
            [
                {"word": word.lower(), "capital": t > 0 and word[0].isupper()}
                for t, word in enumerate(sentence)
            ]
            for sentence in self.words
        ]
        vectorizer = SequenceVectorizer(window=1)
        X = vectorizer.fit_transform([rows[i] for i in self.first])
        self.model = M3N(C=1.0).fit(X, [self.tags[i] for i in self.first])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that training has not seen
            self.samples = vectorizer.transform([rows[i] for i in self.valid])
        self.errors = self.count_errors({})

    def count_errors(self, may: Mapping[str, Any]) -> int:
        """Return the number of wrong tags, where words may have these tags."""
        ruled = [
            Forest(x, allowed_labels=[may.get(word.lower()) for word in self.words[i]])
            for x, i in zip(self.samples, self.valid, strict=True)
        ]
        said = np.concatenate(self.model.predict(ruled))
        return int((said != np.concatenate([self.tags[i] for i in self.valid])).sum())


_tagger = functools.cache(_Tagger)


def _judge_rule(answer: Any) -> str | None:
    tagger = _tagger()
    pairs = [
        (word.lower(), tag)
        for i in [*tagger.first, *tagger.valid]
        for word, tag in zip(tagger.words[i], tagger.tags[i], strict=True)
    ]
    given = {word: answer(word) for word in dict.fromkeys(word for word, _ in pairs)}
    given = {word: value for word, value in given.items() if value is not None}
    if not given:
        return NOTHING_RETURNED
    for word, value in given.items():
        complaint = _complain_of_tags(value)
        if complaint is not None:
            return f"for {word!r} {complaint}"
    forbidden = [(word, tag) for word, tag in pairs if tag not in given.get(word, [tag])]
    if forbidden:
        word, tag = forbidden[0]
        return (
            f"your rule forbids {len(forbidden)} true tags, such as {tag} for {word!r}; allow them, or "
            "let the rule cover fewer words."
        )
    fewer = tagger.errors - tagger.count_errors(given)
    if fewer <= 0:
        return "your rule is true, but M3N makes no fewer errors with it. Look at its errors."
    if fewer < _FEWER:
        count = "one error" if fewer == 1 else f"{fewer} errors"
        return (
            f"your rule is true and saves M3N {count}, but {_FEWER} are needed; which words are "
            "like those that it corrects?"
        )
    return None


def _complain_of_tags(value: Any) -> str | None:
    """Say what is wrong with the tags that a word may have, if anything."""
    if isinstance(value, str) or not isinstance(value, set | frozenset | list | tuple):
        return 'expected a set of tags, such as {"PRON"}, or None.'
    if not value:
        return "an empty set leaves no tag at all; return None to say nothing."
    for tag in value:
        if not (isinstance(tag, str) and tag in _KNOWN):
            return f"{str(tag)[:20]} is not one of the tags, which are {', '.join(_KNOWN)}."
    return None


_FEWER = 3
_PRONOUNS = {
    "i",
    "me",
    "my",
    "you",
    "your",
    "he",
    "him",
    "his",
    "she",
    "her",
    "it",
    "its",
    "we",
    "us",
}
_PRONOUNS |= {"our", "they", "them", "their"}


def _rule(word: str) -> set[str] | None:
    if word in _PRONOUNS:
        return {"PRON"}
    return {"DET"} if word in ("a", "an", "the", "another") else None


check_rule = Judged(
    right=_rule,
    judge=_judge_rule,
    mistakes=[
        lambda word: {"ADV"} if word.endswith("ly") else None,
        lambda word: {"AUX"} if word == "can" else None,
        lambda word: {"PRON"} if word == "him" else None,
        lambda word: {"NUM"} if word.isdigit() else {"PUNCT"} if word == "." else None,
        lambda word: "PRON" if word in _PRONOUNS else None,
        lambda word: {"PRONOUN"} if word in _PRONOUNS else None,
        lambda word: {"PRON"} if word in _PRONOUNS else set(),
        lambda word: None,
    ],
)

check_claim = Choice(right="b")

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
    (_signs, "the characters are right. Where one repeats, keep it once."),
    (
        lambda word: "".join(dict.fromkeys(_signs(word))),
        "only equal *neighbours* become one: McDonald is XxXx.",
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
            return "the characters are right. Join them to one string."
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
