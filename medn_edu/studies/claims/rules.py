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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from medn_edu.studies.claims.scores import GENERATOR, Estimate, Score, Scores, scores_of, total
from medn_edu.studies.claims.verdicts import FAILS, Verdict, agreed, combine, not_run, place

TITLES = {"chains-correlated": "synthetic set 1", "ocr-100": "OCR100"}
"""What rules call the data sets of ``l1m3n-algorithms``."""
DATA = {
    **TITLES,
    "gaussian": "images with Gaussian noise",
    "bimodal": "images with bimodal noise",
    "gaussian-boat": "the first image with Gaussian noise",
    "bimodal-boat": "the first image with bimodal noise",
    "cup": "10 x 10 pixels",
    "key": "5 x 5 pixels",
    "iid-10-50": "independent features",
    "correlated-50": "features in groups",
    "iid": "independent features",
    "correlated": "features in groups",
    "ocr": "OCR100",
    "correlated-50-argmax": "labels that the model behind the data predicts",
    "correlated-10-0-constants": "the first data set with groups",
    "ocr-100-constants": "OCR100",
    "times-10": "a tenth of the product records",
}
"""What they call these, and other data whose names say too little."""

Row = Mapping[str, Any]
Rows = Sequence[Row]
Names = tuple[str, ...]
_T = TypeVar("_T")


NEARBY = 3.0
"""How many times stronger or weaker than the best one constants are that count as near it."""


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
        MEASURES[name] = Measure(find, unit, text, roles, needs, takes, joint, read, cases, bounds)
        return find

    return register


@dataclass(frozen=True)
class Rule:
    """What is measured, of whom, and where it must lie."""

    measure: str  # a key of `MEASURES`
    models: Names
    against: Names = ()  # each model is compared with each of these, but not with itself
    above: float | None = None  # the value is larger
    nearby: float | None = None  # the same, where only constants near the best one are looked at
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None  # the value is this one, but for what `within` allows
    around_best: bool = False  # of the constants only those near the best one count
    within: float | None = None
    consistently: bool = False  # in each setting
    relevant: tuple[int, ...] = ()  # numbers of relevant features that the claim is about
    where: str = ""  # the condition under which a gain is largest
    factor: float = 1.0
    part: str = ""  # of the features
    share: float = 0.0  # of the largest weight, from which on weights count
    data: str = ""  # a key of `TITLES`
    parts: int = 1  # into which the quicker one's time is divided
    size: Rule | None = (
        None  # the same with other bounds: whether the effect is as large as is said
    )

    def decide(self, rows: Rows) -> Verdict:
        """Judge a claim by the rows of a study."""
        how = MEASURES[self.measure]
        try:
            table = how.read(self, rows)
            cases = (how.cases or self._each)(table, self.models)
            found = [(name, how.find(self, table, *names)) for name, names in cases]
        except TooLittleError as lack:
            return not_run(str(lack))
        verdict = self._whole(found)
        if self.size is None or verdict.status == FAILS:
            return verdict
        size = self.size._whole(found)
        return replace(verdict, size=f"{self.size.bound_text()}: {size.status}")

    def _whole(self, found: Sequence[tuple[str, Found]]) -> Verdict:
        names = [name for name, _ in found]
        return combine([self._judge(name, each) for name, each in found], names)

    def _each(self, table: Any, models: Names) -> list[tuple[str, Names]]:
        """Return what is judged by itself: each model, or each pair of two different ones."""
        if not self.against:
            return [(name, (name,)) for name in models]
        joint = MEASURES[self.measure].joint
        pairs = itertools.product(models, self.against)
        return [(f"{a} {joint} {b}", (a, b)) for a, b in pairs if a != b]

    def _judge(self, pair: str, found: Found) -> Verdict:
        """Hold a value against the bounds."""
        above = self.above if found.above is None else found.above
        least = -math.inf if self.at_least is None else self.at_least
        most = math.inf if self.at_most is None else self.at_most
        if self.near is not None and self.within is not None:
            least, most = self.near - self.within, self.near + self.within
        if isinstance(found.value, Estimate):
            value, low, high, chance = found.value
            bounds = [(side, 1) for side in (least, above) if side not in (None, -math.inf)]
            bounds += [(most, -1)] * (most < math.inf)
            inside = [(value - bound) * sign > 0 for bound, sign in bounds]
            p = [chance(bound) for bound, _ in bounds]
            fails = [each for each, is_inside in zip(p, inside, strict=True) if not is_inside]
            chances = (1.0, min(fails)) if fails else (max(p), 1.0)
        else:
            value = low = high = found.value
            chances = None
        status = found.status or place(
            (low, high), above=above, at_least=least, at_most=most, everywhere=found.everywhere
        )
        interval = None if chances is None else (low, high)
        unsigned = self.near == 0.0
        if unsigned and value < 0:
            value, interval = -value, interval and (-high, -low)
        slack = min(value - (least if above is None else above), most - value)
        return Verdict(
            status, value, interval, MEASURES[self.measure].unit, pair, "", found.note, slack,
            chances, unsigned,
        )  # fmt: skip

    def text(self) -> str:
        """Say the rule in words."""
        how = MEASURES[self.measure]
        try:
            size = f"; apart from that, by {self.size.bound_text()}" if self.size else ""
            return how.text.format(**self._words(how)) + size
        except KeyError as error:
            raise RuleError(f"measures.toml, {self.measure!r}: there is no {error}.") from None

    def bound_text(self) -> str:
        """Say the bounds in words, with the unit."""
        unit = MEASURES[self.measure].unit
        return " and ".join(
            f"{words} {points_text(bound) if unit == 'points' else f'{bound:g} {unit}'}"
            for words, bound in (
                ("more than", self.above), ("at least", self.at_least), ("at most", self.at_most)
            )
            if bound is not None
        )  # fmt: skip

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
            "near_best": f"; within a factor of {NEARBY:g} of the best, by more than "
            f"{points_text(self.nearby)}"
            if self.nearby is not None
            else "",
            "features": f" ({relevant} relevant features)" if relevant else "",
            "around": f", within a factor of {NEARBY:g} of the best," if self.around_best else "",
            "most": f", and at most {self.at_most:g}"
            if self.above is not None and self.at_most
            else "",
            "at_most_times": f", at most {2**self.at_most:.3g} times" if self.at_most else "",
            "times": f"{self.factor:g} times " if self.factor != 1 else "",
            "over": (self.above or 0.0) / self.parts,
            "title": (title := DATA.get(self.data, self.data)),
            "on": f", on {title}" * bool(title),
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
        size = self.size and self.size.renamed(names)
        return replace(self, models=models, against=against, size=size)


@dataclass(frozen=True)
class AllOf:
    """Several rules, of which all must hold."""

    rules: tuple[AnyRule, ...]
    joint: ClassVar[str] = "; and "

    def decide(self, rows: Rows) -> Verdict:
        """Judge by each rule."""
        return combine([rule.decide(rows) for rule in self.rules])

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

    It says what all readings agree on; where they do not, it depends.
    """

    joint = "; or else "

    def decide(self, rows: Rows) -> Verdict:
        """Judge by each rule."""
        measures = [getattr(rule, "measure", "") for rule in self.rules]
        names = measures if len(set(measures)) > 1 else [", ".join(r.names()) for r in self.rules]
        verdicts = {name: r.decide(rows) for name, r in zip(names, self.rules, strict=True)}
        known = [verdict.p for verdict in verdicts.values() if verdict.p]
        p = (max(p for p, _ in known), max(p for _, p in known)) if known else None
        return replace(agreed(verdicts), p=p)


AnyRule = Rule | AllOf


# -- from tables ----------------------------------------------------------------------------------

_GROUPS = {"all_of": AllOf, "either_of": EitherOf}
_CHOICES: dict[str, Collection[str]] = {
    "part": ("relevant", "irrelevant", "all"),
    "where": ("few samples", "many samples", "few relevant", "many relevant"),
}
_PLAIN = ("measure", "data", *_CHOICES)  # never a name of something else
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
    size = fields.pop("size", None)
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
    rule = Rule(name, **{**how.bounds, **values})
    return rule if size is None else replace(rule, size=_size(rule, size, names or {}))


def _size(rule: Rule, table: Mapping[str, Any], names: Mapping[str, Any]) -> Rule:
    """Read how large the effect should be."""
    if rule.above != 0.0:
        raise RuleError(f"measure {rule.measure!r} has no direction, so there is no size.")
    known = ("above", "at_least", "at_most")
    if not table or not {*table} <= {*known}:
        raise RuleError(f"size has {listed(tuple(table)) or 'nothing'}; expected {listed(known)}.")
    bounds = {key: _value(key, names.get(value, value), {}) for key, value in table.items()}
    return replace(rule, **{"above": None, **bounds})


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
    rows: Rows, models: Names, quantity: str = "error", *, against: str = "n_train", data: str = ""
) -> Scores:
    """Return scores that have all of some models, on all data or some."""
    trained = set(models) - {GENERATOR}  # whose error stands in the rows of all others
    rows = [
        row
        for row in rows
        if data in ("", row["data"])
        and (not trained or row["model"] in trained)
        and not row.get("failure")
    ]
    lacking = trained - {row["model"] for row in rows}
    if lacking:
        raise TooLittleError(f"the table has no {listed(sorted(lacking))}.")
    # some models train on fewer parts of a data set: only those that all have are compared
    parts: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        parts.setdefault((row["data"], row["fold"]), set()).add(row["model"])
    rows = [row for row in rows if trained <= parts[row["data"], row["fold"]]]
    scores = scores_of(rows, quantity, against=against)
    if not {*models} <= scores.keys():
        raise TooLittleError(f"the table has no {quantity} of {listed(sorted(models))} to compare.")
    return scores


def known(found: _T | None, lack: str) -> _T:
    """Return what was found, if it was."""
    if found is None:
        raise TooLittleError(lack)
    return found


def too_few(*models: str) -> str:
    """Say that fewer than three units can be compared."""
    return f"fewer than three units of {listed(tuple(dict.fromkeys(models)))}."


def mean_of(units: Mapping[Any, Score]) -> float:
    """Return the mean over units."""
    return total(sum(units.values())) / len(units) if units else float("nan")


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
