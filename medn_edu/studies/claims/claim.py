"""Claims: sentences of the papers in our words, the studies that test them, and the rules that decide.

They are written in ``claims.toml``, an entry each; its first lines explain the fields.  An entry that
cannot be read is an error that names it.
"""

import importlib.resources
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medn_edu.studies.claims import (  # noqa: F401  (they register measures)
    algorithms,
    errors,
    images,
    weights,
)
from medn_edu.studies.claims.rules import AnyRule, RuleError, Untested, points_text, rule_of
from medn_edu.studies.claims.verdicts import UNTESTED, Verdict, combine, untested

_SAME_CONSTANTS = {
    "ocr": {
        "LapMEDN sub-gradient": "LapMEDN at its optimum",
        "M3N sub-gradient": "M3N at its optimum",
    },
    "sensitivity": {"LapMEDN variational": "LapMEDN"},
}
"""Optima of what the papers minimise, by study; only these differ in nothing but the algorithm."""

_OTHER_CONSTANTS = {
    "LapMEDN variational": "LapMEDN",
    "LapMEDN sub-gradient": "LapMEDN",
    "M3N sub-gradient": "M3N",
    "L1-M3N sub-gradient": "L1-M3N",
    "L1-M3N online sub-gradient": "L1-M3N",
    "L1-M3N EM": "L1-M3N",
}
"""Optima whose constants were chosen anew: with ``C = 1`` instead of ``200 beta``, or by the penalised
program instead of the ball or of EM, whose constants have no counterpart in it."""

_HOW = {"sensitivity": "constants of its own"}


class ClaimError(ValueError):
    """A claim, or a finding, is not written as it should be; the message names it."""


@dataclass(frozen=True)
class Claim:
    """What a paper says of its experiments, and how it is decided here."""

    id: str  # paper, section and letter, such as ``medn-7.1.1-a``
    text: str  # the claim in our words
    study: str  # name of the study that tests it
    rule: AnyRule
    also: tuple[tuple[str, AnyRule], ...] = ()
    caveat: str = ""  # in what our data differ from those that the sentence is about
    amended: str = ""  # what was changed after the tables were seen, and why
    page: int | None = None  # of the paper, where it is known

    @property
    def parts(self) -> tuple[tuple[str, AnyRule], ...]:
        """Every study that tests it, with the rule by which."""
        return ((self.study, self.rule), *self.also)

    @property
    def studies(self) -> tuple[str, ...]:
        """Names of the studies that test it."""
        return tuple(study for study, _ in self.parts)

    @property
    def rule_text(self) -> str:
        """The rule in words; of several studies, each one's."""
        if not self.also:
            return self.rule.text()
        return "; and ".join(f"in {study}: {rule.text()}" for study, rule in self.parts)

    @property
    def paper(self) -> str:
        """Which paper says it, a key of `PAPERS`."""
        return self.id.split("-")[0]

    @property
    def section(self) -> str:
        """In which section."""
        return self.id.split("-")[1]


# -- reading them ---------------------------------------------------------------------------------

_FIELDS = ("text", "study", "rule", "untested", "also", "caveat", "amended", "page")


def read_text(name: str) -> str:
    """Read a file that lies next to this one."""
    file = importlib.resources.files("medn_edu.studies.claims") / name
    return file.read_text(encoding="utf-8")


def read_toml(text: str, *keys: str) -> dict[str, Any]:
    """Read a file that has just these parts."""
    file = tomllib.loads(text)
    for key in file:
        if key not in keys:
            raise ClaimError(f"there is no part {key!r}; parts are {', '.join(keys)}.")
    for key in keys:
        if key not in file:
            raise ClaimError(f"part {key!r} is missing.")
    return file


def read_claims(
    tables: Mapping[str, Mapping[str, Any]],
    *,
    papers: Mapping[str, str],
    names: Mapping[str, Any],
    coming: Sequence[str] = (),
) -> dict[str, Claim]:
    """Read claims from tables, by id."""
    found = {}
    for claim_id, table in tables.items():
        try:
            found[claim_id] = _read_claim(claim_id, table, papers, names, coming)
        except ValueError as error:
            raise ClaimError(f"claim {claim_id}: {error}") from None
    return found


def _read_claim(
    claim_id: str,
    table: Mapping[str, Any],
    papers: Mapping[str, str],
    names: Mapping[str, Any],
    coming: Sequence[str],
) -> Claim:
    for key in table:
        if key not in _FIELDS:
            raise RuleError(f"there is no field {key!r}; fields are {', '.join(_FIELDS)}.")
    for key in ("text", "study"):
        if not isinstance(table.get(key), str):
            raise RuleError(f"{key} is missing, or no text.")
    paper, *place = claim_id.split("-")
    if paper not in papers:
        raise RuleError(f"there is no paper {paper!r}; papers are {', '.join(papers)}.")
    if len(place) != 2 or not place[0][:1].isdigit() or not place[1].isalpha():
        raise RuleError("its id should be of paper, section and a letter, such as medn-7.1.1-a.")
    if not isinstance(table.get("page", 1), int):
        raise RuleError("page is no whole number.")
    fields = {
        key: names.get(table[key], table[key]) for key in ("caveat", "amended") if key in table
    }
    also = {study: rule_of(rule, names) for study, rule in table.get("also", {}).items()}
    return Claim(
        claim_id,
        table["text"],
        table["study"],
        _read_rule(table, names, coming),
        tuple(also.items()),
        page=table.get("page"),
        **fields,
    )


def _read_rule(
    table: Mapping[str, Any], names: Mapping[str, Any], coming: Sequence[str]
) -> AnyRule:
    given = [key for key in ("rule", "untested") if key in table]
    if table["study"] in coming:
        if given:
            raise RuleError(
                f"the study {table['study']} is still to come, so there is no {given[0]}."
            )
        return Untested(f"the study {table['study']} is still to come.")
    if len(given) != 1:
        raise RuleError("it needs either a rule or untested, which says why there is none.")
    if "untested" in table:
        return Untested(names.get(table["untested"], table["untested"]))
    return rule_of(table["rule"], names)


class _Margin(float):
    """A margin in a text; ``{name:points}`` is followed by the unit."""

    def __format__(self, spec: str) -> str:
        return points_text(self) if spec == "points" else format(float(self), spec or "g")


def _meanings(words: Mapping[str, str], margins: Mapping[str, float]) -> dict[str, str]:
    """Put margins into what the papers' words are taken to mean."""
    numbers = {name: _Margin(value) for name, value in margins.items()}
    try:
        return {word: text.format(**numbers) for word, text in words.items()}
    except KeyError as unknown:
        raise ClaimError(f"words: there is no margin {unknown}.") from None


_FILE = read_toml(
    read_text("claims.toml"),
    *("coming", "seen", "papers", "margins", "words", "units", "names", "claims"),
)
PAPERS: dict[str, str] = _FILE["papers"]
"""The papers, by what begins the ids of their claims."""
COMING: tuple[str, ...] = tuple(_FILE["coming"])
"""Studies that are still to come."""
SEEN: tuple[str, ...] = tuple(_FILE["seen"])
"""Studies whose tables were there before the rules about them."""
UNITS: dict[str, str] = _FILE["units"]
"""What each unit means."""
MARGINS = _meanings(_FILE["words"], _FILE["margins"])
"""What the papers' words are taken to mean."""
NAMES: dict[str, Any] = {**_FILE["margins"], **_FILE["names"]}
"""What margins, lists of models and texts are called that recur."""
CLAIMS = read_claims(_FILE["claims"], papers=PAPERS, names=NAMES, coming=COMING)
"""The claims by id."""


def check_studies(claims: Mapping[str, Claim]) -> None:
    """Complain about studies that there are not, and models that they do not train."""
    from medn_edu.studies.registry import STUDIES  # which imports all models

    for claim in claims.values():
        for name, rule in claim.parts:
            if name in COMING:
                continue
            if name not in STUDIES:
                raise ClaimError(f"claim {claim.id}: there is no study {name!r}.")
            models = STUDIES[name].models
            for model in (*rule.names(), *at_optimum(rule, name).names()):
                if model not in models:
                    raise ClaimError(f"claim {claim.id}: study {name} trains no model {model!r}.")


# -- judging them ---------------------------------------------------------------------------------


def at_optimum(rule: AnyRule, study: str) -> AnyRule:
    """Return a rule about the same models trained to their optima."""
    return rule.renamed({**_OTHER_CONSTANTS, **_SAME_CONSTANTS.get(study, {})})


def _optimum_text(rule: AnyRule, study: str) -> str:
    """Say which optima stand in place of the papers' algorithms, and where constants differ, too."""
    same = _SAME_CONSTANTS.get(study, {})
    read = dict.fromkeys(name for name in rule.names() if name not in same)
    other = dict.fromkeys(_OTHER_CONSTANTS[name] for name in read if name in _OTHER_CONSTANTS)
    how = f" ({' and '.join(other)} with {_HOW.get(study, 'chosen constants')})" if other else ""
    return f"trained to the optimum{how}"


def judge(claim: Claim, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Verdict:
    """Decide a claim."""
    found = [_judge_part(study, rule, tables) for study, rule in claim.parts]
    return combine(found, claim.studies)


def _judge_part(
    study: str, as_printed: AnyRule, tables: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Verdict:
    """Decide what one study says of a claim."""
    if isinstance(as_printed, Untested):
        return as_printed.decide([])
    rows = tables.get(study)
    if not rows:
        return untested(f"no table of {study} is stored.")
    verdict = as_printed.decide(rows)
    rule = at_optimum(as_printed, study)
    if rule == as_printed or verdict.status == UNTESTED:
        return verdict
    optimum = rule.decide(rows)
    if optimum.status == UNTESTED:
        return verdict
    at = _optimum_text(as_printed, study)
    notes = [verdict.note, f"{at}: {optimum.status}, {optimum.numbers}"]
    return replace(verdict, note="; ".join(filter(None, notes)))
