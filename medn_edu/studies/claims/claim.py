"""A claim: a sentence of a paper in our words, the study that tests it, and the rule that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from medn_edu.studies.claims.rules import Untested, model_names
from medn_edu.studies.claims.verdicts import UNTESTED, Verdict, combine, untested

PAPERS = {
    "medn": "MEDN (Zhu and Xing, JMLR 2009)",
    "lapm3n": "LapM3N (Zhu, Xing and Zhang, ICML 2008)",
    "l1m3n": "L1-M3N (Zhu, Xing and Zhang, KDD 2009)",
    "asp": "Approximated structured prediction (Hazan and Urtasun, NIPS 2010)",
}
"""The papers, by what begins the ids of their claims."""

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


@dataclass(frozen=True)
class Claim:
    """What a paper says of its experiments, and how it is decided here."""

    id: str  # paper, section and letter, such as ``medn-7.1.1-a``
    text: str  # the claim in our words
    study: str  # name of the study that tests it
    rule: Any  # decides, with ``decide(rows)`` and ``text()``
    also: tuple[tuple[str, Any], ...] = ()
    caveat: str = ""  # in what our data differ from those that the sentence is about
    amended: str = ""  # what was changed after the tables were seen, and why

    @property
    def parts(self) -> tuple[tuple[str, Any], ...]:
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
            return str(self.rule.text())
        return "; and ".join(f"in {study}: {rule.text()}" for study, rule in self.parts)

    @property
    def paper(self) -> str:
        """Which paper says it, a key of `PAPERS`."""
        return self.id.split("-")[0]

    @property
    def section(self) -> str:
        """In which section."""
        return self.id.split("-")[1]


def at_optimum(rule: Any, study: str) -> Any:
    """Return a rule about the same models trained to their optima."""
    return _renamed(rule, {**_OTHER_CONSTANTS, **_SAME_CONSTANTS.get(study, {})})


def _renamed(value: Any, optima: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return optima.get(value, value)
    if isinstance(value, tuple):
        return tuple(dict.fromkeys(_renamed(part, optima) for part in value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _renamed(getattr(value, f.name), optima) for f in fields(value)}
        return replace(value, **parts)
    return value


def _optimum_text(rule: Any, study: str) -> str:
    """Say which optima stand in place of the papers' algorithms, and where constants differ, too."""
    same = _SAME_CONSTANTS.get(study, {})
    read = dict.fromkeys(name for name in model_names(rule) if name not in same)
    other = dict.fromkeys(_OTHER_CONSTANTS[name] for name in read if name in _OTHER_CONSTANTS)
    how = f" ({' and '.join(other)} with {_HOW.get(study, 'chosen constants')})" if other else ""
    return f"trained to the optimum{how}"


def judge(claim: Claim, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Verdict:
    """Decide a claim."""
    found = [_judge_part(study, rule, tables) for study, rule in claim.parts]
    return combine(found, claim.studies)


def _judge_part(
    study: str, as_printed: Any, tables: Mapping[str, Sequence[Mapping[str, Any]]]
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
