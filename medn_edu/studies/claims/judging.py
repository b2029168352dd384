"""Judging: the verdicts of all claims under all readings, corrected for how many there are.

A claim is judged once for each variant of each reading.  All decisions by intervals that a study makes
are a family, for each variant its own: their p-values are corrected by Holm's method, and a decision
that could be one of the family's few by chance is *mixed*.
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
    same: Mapping[str, str] = field(default_factory=dict)  # readings with the fits of another one
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
        """Whether all readings and variants agree; a dash if one pair with one effect decides them."""
        own = {
            name: verdict
            for name, verdict in self.readings.items()
            if name not in self.same and verdict.status != NOT_RUN
        }
        statuses = {verdict.status for verdict in own.values()}
        if DEPENDS in statuses or len(statuses) > 1:
            return "no"
        decided = {
            (each.pair, each.effect)
            for name in own
            for each in self.variants[name]
            if each.status != NOT_RUN
        }
        return "yes" if len(own) > 1 and len(decided) > 1 else "–"


def judge(claims: Mapping[str, Claim], tables: Tables) -> dict[str, Judgement]:
    """Decide all claims, since how many there are counts."""
    asked = {
        key: rule
        for claim in claims.values()
        for reading in (readings_of(claim) if claim.parts else ())
        for key, rule in _asked(claim, reading).items()
    }
    verdicts = _corrected(asked, _decided(asked, tables))
    return {name: _judgement(claim, verdicts) for name, claim in claims.items()}


def _asked(claim: Claim, reading: str) -> dict[_Key, AnyRule]:
    """Return the rules about the models of a reading, for each study and variant."""
    return {
        _key(study, reading, variant, claim): rule.renamed(roles)
        for study, rule in claim.parts
        for variant, roles in variants_of(study, reading).items()
    }


def _key(study: str, reading: str, variant: str, claim: Claim) -> _Key:
    return study, reading if study in ROLES else AS_RUN, variant, claim.name


def _decided(asked: Mapping[_Key, AnyRule], tables: Tables) -> dict[_Key, Verdict]:
    """Judge each claim by each of its studies, under each variant of each reading."""
    known: dict[tuple[str, AnyRule], Verdict] = {}
    for (study, *_), rule in asked.items():
        if (study, rule) not in known:
            rows = tables.get(study)
            lack = not_run(f"no table of {study} is stored.")
            known[study, rule] = rule.decide(rows) if rows else lack
    return {key: known[key[0], rule] for key, rule in asked.items()}


def _corrected(
    asked: Mapping[_Key, AnyRule], verdicts: Mapping[_Key, Verdict]
) -> dict[_Key, Verdict]:
    """Correct decisions for the size of their family.

    Claims that ask the same of a table are one decision.  Where variants ask the same, the largest of
    their p-values counts, so that they cannot disagree.
    """
    families: dict[tuple[str, ...], dict[AnyRule, float]] = {}
    for key, verdict in verdicts.items():
        if verdict.p is not None:
            families.setdefault(key[:3], {})[asked[key]] = min(verdict.p)
    largest: dict[tuple[str, str, AnyRule], float] = {}
    for (study, reading, _), family in families.items():
        for rule, p in holm(family).items():
            largest[study, reading, rule] = max(p, largest.get((study, reading, rule), 0.0))
    return {
        key: verdict.corrected(largest.get((*key[:2], asked[key]), 0.0))
        for key, verdict in verdicts.items()
    }


def _judgement(claim: Claim, verdicts: Mapping[_Key, Verdict]) -> Judgement:
    if claim.untestable:
        return Judgement(untested=Verdict(UNTESTABLE, note=claim.untestable))
    if claim.missing:
        return Judgement(untested=Verdict(MISSING, note=f"{claim.missing} is still to come."))

    readings, variants = {}, {}
    for reading in readings_of(claim):
        of = [
            {
                name: verdicts[_key(study, reading, name, claim)]
                for name in _distinct(study, rule, reading)
            }
            for study, rule in claim.parts
        ]
        readings[reading] = combine([agreed(each) for each in of], claim.studies)
        variants[reading] = [verdict for each in of for verdict in each.values()]
    return Judgement(readings, variants, _same(claim))


def _distinct(study: str, rule: AnyRule, reading: str) -> Iterable[str]:
    """Return the variants of a reading in which a rule asks what it asks in none before."""
    first: dict[AnyRule, str] = {}
    for name, roles in variants_of(study, reading).items():
        first.setdefault(rule.renamed(roles), name)
    return first.values()


def _same(claim: Claim) -> dict[str, str]:
    """Return which readings ask the same of the same tables as another one, and which that is."""
    fits: dict[frozenset[tuple[str, AnyRule]], str] = {}
    same = {}
    for reading in sorted(readings_of(claim), key=("fair", "printed", "optimum", AS_RUN).index):
        asked = {(key[0], rule) for key, rule in _asked(claim, reading).items()}
        first = fits.setdefault(frozenset(asked), reading)
        if first != reading:
            same[reading] = first
    return same


def counted(judgements: Iterable[Judgement]) -> str:
    """Count verdicts, as in a sentence."""
    counts = Counter(each.shown.status for each in judgements)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
