"""Judging: the verdicts of all claims under all readings, corrected for how many there are.

A claim is judged once for each variant of each reading.  All claims that a study decides by intervals
are a family, for each variant its own: the p-values of their decisions are corrected by Holm's method,
and a decision that could be one of the family's few by chance is *mixed*.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from medn_edu.studies.claims.claim import AS_RUN, ROLES, Claim, readings_of, variants_of
from medn_edu.studies.claims.rules import AnyRule, Row
from medn_edu.studies.claims.verdicts import (
    DEPENDS,
    MISSING,
    NOT_RUN,
    STATUSES,
    UNTESTABLE,
    Verdict,
    agreed,
    combine,
    holm,
    not_run,
)

Tables = Mapping[str, Sequence[Row]]
_Key = tuple[str, str, str, str]  # study, reading, variant, claim


@dataclass(frozen=True)
class Judgement:
    """What is said of a claim."""

    readings: Mapping[str, Verdict] = field(default_factory=dict)  # the one first that is shown
    variants: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)  # of each reading
    untested: Verdict | None = None  # instead, where there is no rule

    @property
    def reading(self) -> str:
        """The reading whose effect is shown: the first that was run."""
        run = [name for name, verdict in self.readings.items() if verdict.status != NOT_RUN]
        return next(iter([*run, *self.readings]), "")

    @property
    def shown(self) -> Verdict:
        """Its verdict."""
        return self.untested or self.readings[self.reading]

    @property
    def robust(self) -> str:
        """Whether all readings and variants that were run agree; a dash if there is only one."""
        statuses = [each.status for each in self.readings.values() if each.status != NOT_RUN]
        if DEPENDS in statuses or len(set(statuses)) > 1:
            return "no"
        return "yes" if len(statuses) > 1 else "–"


def judge(claims: Mapping[str, Claim], tables: Tables) -> dict[str, Judgement]:
    """Decide all claims, since how many there are counts."""
    parts = _corrected(_each_part(claims, tables))
    return {name: _judgement(claim, parts) for name, claim in claims.items()}


def _each_part(claims: Mapping[str, Claim], tables: Tables) -> dict[_Key, Verdict]:
    """Judge each claim by each of its studies, under each variant of each reading."""
    found: dict[_Key, Verdict] = {}
    known: dict[tuple[str, AnyRule], Verdict] = {}
    for claim in claims.values():
        for study, rule in claim.parts:
            for reading in readings_of(claim):
                for variant, roles in variants_of(study, reading).items():
                    asked = rule.renamed(roles)
                    if (study, asked) not in known:
                        rows = tables.get(study)
                        lack = not_run(f"no table of {study} is stored.")
                        known[study, asked] = asked.decide(rows) if rows else lack
                    found[_key(study, reading, variant, claim)] = known[study, asked]
    return found


def _key(study: str, reading: str, variant: str, claim: Claim) -> _Key:
    return study, reading if study in ROLES else AS_RUN, variant, claim.name


def _corrected(parts: Mapping[_Key, Verdict]) -> dict[_Key, Verdict]:
    families: dict[tuple[str, ...], dict[_Key, float]] = {}
    for key, verdict in parts.items():
        if verdict.p is not None:
            families.setdefault(key[:3], {})[key] = min(verdict.p)
    p = {key: value for family in families.values() for key, value in holm(family).items()}
    return {key: verdict.corrected(p.get(key, 0.0)) for key, verdict in parts.items()}


def _judgement(claim: Claim, parts: Mapping[_Key, Verdict]) -> Judgement:
    if claim.untestable:
        return Judgement(untested=Verdict(UNTESTABLE, note=claim.untestable))
    if claim.missing:
        return Judgement(untested=Verdict(MISSING, note=f"{claim.missing} is still to come."))

    readings, variants = {}, {}
    for reading in readings_of(claim):
        of = [
            {name: parts[_key(study, reading, name, claim)] for name in variants_of(study, reading)}
            for study in claim.studies
        ]
        readings[reading] = combine([agreed(each) for each in of], claim.studies)
        variants[reading] = [verdict for each in of for verdict in each.values()]
    return Judgement(readings, variants)


def counted(judgements: Iterable[Judgement]) -> str:
    """Count verdicts, as in a sentence."""
    counts = Counter(each.shown.status for each in judgements)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
