"""Rules: what is measured of whom, and the bounds that a claim puts on it.

A `Rule` names a measure, the models that it is taken of, and bounds.  The measures are small functions,
marked by `measure`, in `claims.errors`, `claims.weights`, `claims.algorithms` and `claims.images`; their
words are in ``measures.toml``.  Rules are written as tables in ``claims.toml`` and read by `rule_of`.
What the verdicts mean is said in `medn_edu.studies.claims`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from medn_edu.studies.claims.scores import GENERATOR, Estimate, Scores, scores_of
from medn_edu.studies.claims.verdicts import FAILS, MIXED, Verdict, combine, place, untested

TITLES = {"chains-correlated": "synthetic set 1", "ocr-100": "OCR100"}
"""What rules call the data sets of ``l1m3n-algorithms``."""
IMAGES = {
    "gaussian": "images with Gaussian noise",
    "bimodal": "images with bimodal noise",
    "gaussian-boat": "the first image with Gaussian noise",
    "bimodal-boat": "the first image with bimodal noise",
    "cup": "10 x 10 pixels",
    "key": "5 x 5 pixels",
}
"""What they call those of ``denoising`` and ``epsilon``."""
MARKS = {"change_errors": "likelihood's relative change", "loss_errors": "likelihood itself"}
"""Columns of ``ocr-overfitting`` with errors along training, as texts, and what their marks are of."""

Row = Mapping[str, Any]
Rows = Sequence[Row]
Names = tuple[str, ...]
_T = TypeVar("_T")


class TooLittleError(Exception):
    """A table lacks what a rule needs; the message says what."""


class RuleError(ValueError):
    """A rule cannot be read; the message says why."""


class Found(NamedTuple):
    """What a measure finds of one model, or of one pair."""

    value: Estimate | float  # a mere number has no interval
    note: str = ""  # what stands behind it
    everywhere: bool = True  # whether it is as the claim says in each setting, too
    status: str = ""  # the verdict, where more than the value decides
    above: float | None = None  # the bound, where it is not the rule's own


@dataclass(frozen=True)
class Measure:
    """How one kind of rule is decided and told."""

    find: Callable[..., Found]  # of rule, table and one name, or two
    unit: str
    text: str  # the rule in words, with names of fields in braces
    roles: Names  # what a table calls the models, and those that they are compared with
    needs: Names  # further fields that a rule must have
    takes: Names  # ... and may have
    joint: str  # between the names of a pair
    read: Callable[[Rule, Rows], Any]  # makes of rows what `find` looks at
    cases: Callable[[Any, Names], list[tuple[str, Names]]] | None  # to judge; otherwise each model
    remark: Callable[[Rule], str]  # follows the text
    bounds: Mapping[str, float]  # where a rule has none of its own


_BOUNDS = ("above", "at_least", "at_most", "near")
MEASURES: dict[str, Measure] = {}
"""The measures by name."""


_WORDS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("measures.toml").read_text(encoding="utf-8")
)


def measure(
    name: str,
    *,
    read: Callable[[Rule, Rows], Any] = lambda rule, rows: rows,
    cases: Callable[[Any, Names], list[tuple[str, Names]]] | None = None,
    remark: Callable[[Rule], str] = lambda rule: "",
) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Register a function as the measure that ``measures.toml`` has words of."""
    words = dict(_WORDS.get(name, {}))
    if unknown := words.keys() - {"text", "of", "unit", "needs", "takes", "joint", *_BOUNDS}:
        raise RuleError(f"measures.toml, {name!r}: there is no field {min(unknown)!r}.")
    if not {"text", "of", "unit"} <= words.keys():
        raise RuleError(f"measures.toml, {name!r}: expected text, of and unit.")
    text, unit, joint = (
        " ".join(words["text"].split()),
        words["unit"],
        words.get("joint", "against"),
    )
    roles, needs, takes = (tuple(words.get(key, "").split()) for key in ("of", "needs", "takes"))
    bounds = {key: words[key] for key in _BOUNDS if key in words}

    def register(find: Callable[..., Found]) -> Callable[..., Found]:
        if name in MEASURES:
            raise RuleError(f"there are two measures {name!r}.")
        MEASURES[name] = Measure(
            find, unit, text, roles, needs, takes, joint, read, cases, remark, bounds
        )
        return find

    return register


@dataclass(frozen=True)
class Rule:
    """What is measured, of whom, and where it must lie."""

    measure: str  # a key of `MEASURES`
    models: Names
    against: Names = ()  # each model is compared with each of these, but not with itself
    above: float | None = None  # the value is larger
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None  # the value is this one, but for what `within` allows
    within: float | None = None
    consistently: bool = False  # in each setting
    relevant: tuple[int, ...] = ()  # numbers of relevant features that the claim is about
    where: str = ""  # the condition under which a gain is largest
    factor: float = 1.0
    columns: Names = tuple(MARKS)  # where to look for the best moment
    part: str = ""  # of the features
    share: float = 0.0  # of the largest weight, from which on weights count
    data: str = ""  # a key of `TITLES`
    parts: int = 1  # into which the quicker one's time is divided

    def decide(self, rows: Rows) -> Verdict:
        """Judge a claim by the rows of a study."""
        how = MEASURES[self.measure]
        try:
            table = how.read(self, rows)
            cases = (how.cases or self._each)(table, self.models)
            verdicts = [self._judge(how.find(self, table, *names)) for _, names in cases]
            return combine(verdicts, [name for name, _ in cases])
        except TooLittleError as lack:
            return untested(str(lack))

    def _each(self, table: Any, models: Names) -> list[tuple[str, Names]]:
        """Return what is judged by itself: each model, or each pair of two different ones."""
        if not self.against:
            return [(name, (name,)) for name in models]
        joint = MEASURES[self.measure].joint
        pairs = itertools.product(models, self.against)
        return [(f"{a} {joint} {b}", (a, b)) for a, b in pairs if a != b]

    def _judge(self, found: Found) -> Verdict:
        """Hold a value against the bounds."""
        _, note, everywhere, status, above = found
        if isinstance(found.value, Estimate):
            value, low, high = found.value
            interval = (low, high)
        else:
            value = low = high = found.value
            interval = None
        least, most = -math.inf, math.inf
        if self.near is not None and self.within is not None:
            least, most = self.near - self.within, self.near + self.within
        elif self.at_least is not None:
            least = self.at_least
        if self.at_most is not None:
            most = self.at_most
        above = self.above if above is None else above
        status = status or place(
            (low, high), above=above, at_least=least, at_most=most, everywhere=everywhere
        )
        slack = min(value - (least if above is None else above), most - value)
        return Verdict(status, value, interval, MEASURES[self.measure].unit, note, slack)

    def text(self) -> str:
        """Say the rule in words."""
        how = MEASURES[self.measure]
        try:
            return how.text.format(**self._words(how)) + how.remark(self)
        except KeyError as error:
            raise RuleError(f"measures.toml, {self.measure!r}: there is no {error}.") from None

    def _words(self, how: Measure) -> dict[str, Any]:
        """Return what a text may name: the fields, and these."""
        than, bound = ("more than", self.above)
        if bound is None:
            than, bound = ("at most", self.at_most)
        by = f", by more than {points_text(self.above)}" if self.above else ""
        by += f", by at most {points_text(self.at_most)}" if self.at_most is not None else ""
        relevant = " and ".join(map(str, self.relevant))
        return {
            **vars(self),
            **dict(zip(how.roles, map(Listed, (self.models, self.against)), strict=False)),
            "by": by,
            "much": f"{than} {bound:g}" if bound is not None else "",
            "much_points": f"{than} {points_text(bound)}" if bound is not None else "",
            "margin": points_text(self.within) if self.within is not None else "",
            "settings": ", in each setting" if self.consistently else "",
            "features": f" ({relevant} relevant features)" if relevant else "",
            "most": f", and at most {self.at_most:g}"
            if self.above is not None and self.at_most
            else "",
            "at_most_times": f", at most {2**self.at_most:.3g} times" if self.at_most else "",
            "times": f"{self.factor:g} times " if self.factor != 1 else "",
            "over": (self.above or 0.0) / self.parts,
            "title": (TITLES | IMAGES).get(self.data, ""),
            "marks": " or of the ".join(MARKS[column] for column in self.columns),
        }

    def names(self) -> Iterator[str]:
        """Yield the models, or algorithms, that are compared."""
        yield from (name for name in self.models + self.against if name != GENERATOR)

    def renamed(self, names: Mapping[str, str]) -> Rule:
        """Return the same rule about other models."""
        models, against = (
            tuple(dict.fromkeys(names.get(name, name) for name in side))
            for side in (self.models, self.against)
        )
        return dataclasses.replace(self, models=models, against=against)


@dataclass(frozen=True)
class AllOf:
    """Several rules, of which all must hold."""

    rules: tuple[AnyRule, ...]
    joint: ClassVar[str] = "; and "

    def decide(self, rows: Rows) -> Verdict:
        """Judge by each rule."""
        return self._whole([rule.decide(rows) for rule in self.rules])

    def _whole(self, verdicts: list[Verdict]) -> Verdict:
        return combine(verdicts, [rule.text() for rule in self.rules])

    def text(self) -> str:
        """Return the parts, one after the other."""
        return self.joint.join(rule.text() for rule in self.rules)

    def names(self) -> Iterator[str]:
        """Yield the models of all rules."""
        return itertools.chain.from_iterable(rule.names() for rule in self.rules)

    def renamed(self, names: Mapping[str, str]) -> AllOf:
        """Return the same rules about other models; those that are the same then, once."""
        return type(self)(tuple(dict.fromkeys(rule.renamed(names) for rule in self.rules)))


class EitherOf(AllOf):
    """Several readings of one sentence: the paper leaves open which is meant.

    It says what all readings agree on; where they do not, it is mixed.
    """

    joint = "; or else "

    def _whole(self, verdicts: list[Verdict]) -> Verdict:
        whole = super()._whole(verdicts)
        disputed = whole.status == FAILS and {verdict.status for verdict in verdicts} != {FAILS}
        return dataclasses.replace(whole, status=MIXED) if disputed else whole


@dataclass(frozen=True)
class Untested:
    """No rule: nothing in this package tests the sentence."""

    why: str

    def decide(self, rows: Rows) -> Verdict:
        """Say that nothing was tested."""
        del rows
        return untested(self.why)

    def text(self) -> str:
        """Return the reason."""
        return f"none: {self.why}"

    def names(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())

    def renamed(self, names: Mapping[str, str]) -> Untested:
        """Return the same."""
        del names
        return self


AnyRule = Rule | AllOf | Untested


# -- from tables ----------------------------------------------------------------------------------

_GROUPS = {"all_of": AllOf, "either_of": EitherOf}
_CHOICES: dict[str, Collection[str]] = {
    "columns": MARKS,
    "data": TITLES | IMAGES,
    "part": ("relevant", "irrelevant", "all"),
    "where": ("few samples", "many samples", "few relevant", "many relevant"),
}
_PLAIN = ("measure", *_CHOICES)  # never a name of something else
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float),
    "Names": (str,),  # one, or a list of them
    "tuple[int, ...]": (int,),
}


def rule_of(table: Mapping[str, Any], names: Mapping[str, Any] | None = None) -> AnyRule:
    """Read a rule; texts that are keys of ``names`` stand for what these hold."""
    for key, kind in _GROUPS.items():
        if key in table:
            if len(table) > 1:
                raise RuleError(f"next to {key} a rule has nothing else.")
            return kind(tuple(rule_of(part, names) for part in table[key]))
    fields = {
        key: (names or {}).get(value, value)
        if isinstance(value, str) and key not in _PLAIN
        else value
        for key, value in table.items()
    }
    name = fields.pop("measure", None)
    if name not in MEASURES:
        raise RuleError(f"there is no measure {name!r}; known are {', '.join(MEASURES)}.")
    how = MEASURES[name]
    needed = (*how.roles, *how.needs)
    for key in fields:
        if key not in (*needed, *how.takes):
            raise RuleError(
                f"measure {name!r} has no {key!r}; it has {listed(needed + how.takes)}."
            )
    for key in needed:
        if key not in fields:
            raise RuleError(f"measure {name!r} needs {key!r}.")
    if not {*how.bounds, *fields} & {*_BOUNDS} and {*how.takes} & {*_BOUNDS}:
        raise RuleError(f"measure {name!r} needs a bound.")
    roles = dict(zip(how.roles, ("models", "against"), strict=False))
    values = {roles.get(key, key): _value(key, value, roles) for key, value in fields.items()}
    return Rule(name, **{**how.bounds, **values})


def _value(key: str, value: Any, roles: Mapping[str, str]) -> Any:
    """Check the value of a field."""
    kinds = {field.name: str(field.type) for field in dataclasses.fields(Rule)}
    kind = kinds[roles.get(key, key)]
    several = kind in ("Names", "tuple[int, ...]")
    parts = tuple(value) if several and isinstance(value, list | tuple) else (value,)
    for part in parts:
        if not isinstance(part, _KINDS[kind]) or isinstance(part, bool) != (kind == "bool"):
            raise RuleError(f"{key} = {part!r} is neither of the right kind nor one of the names.")
        if part not in _CHOICES.get(key, (part,)):
            raise RuleError(f"{key} = {part!r} is none of {', '.join(_CHOICES[key])}.")
    return parts if several else value


# -- what measures share --------------------------------------------------------------------------


def scores_with(
    rows: Rows, models: Names, quantity: str = "error", *, against: str = "n_train"
) -> Scores:
    """Return scores that have all of some models."""
    if GENERATOR not in models:  # whose error stands in the rows of all others
        rows = [row for row in rows if row["model"] in models]
    scores = scores_of(rows, quantity, against=against)
    missing = [model for model in dict.fromkeys(models) if model not in scores]
    if missing:
        raise TooLittleError(f"the table has no {listed(missing)}.")
    return scores


def known(found: _T | None, lack: str) -> _T:
    """Return what was found, if it was."""
    if found is None:
        raise TooLittleError(lack)
    return found


def too_few(*models: str) -> str:
    """Say that fewer than three units can be compared."""
    return f"fewer than three units of {listed(tuple(dict.fromkeys(models)))}."


def mean_of(units: Mapping[Any, float]) -> float:
    """Return the mean over units."""
    return float(np.mean(list(units.values()))) if units else float("nan")


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class Listed(tuple[str, ...]):
    """Names in a text: as in a sentence, or with what the placeholder says between them."""

    def __format__(self, joint: str) -> str:
        return joint.join(self) if joint else listed(self)


def points_text(value: float) -> str:
    """Return a number of points as a text."""
    return f"{value:g} point" + ("" if value == 1 else "s")
