"""Claims: sentences of the papers in our words, the studies that test them, and the rules that decide.

They are written in ``claims.toml``, an entry each; its first lines explain the fields.  An entry that
cannot be read is an error that names it.
"""

import importlib.resources
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from medn_edu.studies.claims import (  # noqa: F401  (they register measures)
    algorithms,
    errors,
    images,
    predicted,
    profiled,
    weights,
)
from medn_edu.studies.claims.rules import AnyRule, RuleError, listed, points_text, rule_of

READINGS = ("fair", "optimum", "printed")
"""What a claim may be taken to be about, the one first whose effect is shown."""
AS_RUN = "as run"
"""The reading of studies that have one only."""

Roles = Mapping[str, str]
_ALL = "*"  # the variant with what all variants of a reading share
_ID = re.compile(r"([a-z0-9]+)-(\d[\d.]*)-[a-z]+")


class ClaimError(ValueError):
    """A claim, a question or a finding is not written as it should be; the message names it."""


@dataclass(frozen=True)
class Claim:
    """What papers say of their experiments, and how it is decided here."""

    name: str
    said: Mapping[str, int]  # ids of the papers' sentences, with their paragraphs; 0 is not known
    text: str  # the claim in our words
    question: str  # which it helps to answer
    parts: tuple[tuple[str, AnyRule], ...] = ()  # every study that tests it, with the rule by which
    untestable: str = ""  # why no study can
    missing: str = ""  # the study that is still to come

    @property
    def studies(self) -> tuple[str, ...]:
        """Names of the studies that test it, or will."""
        return tuple(study for study, _ in self.parts) or (self.missing,) * bool(self.missing)

    @property
    def rule_text(self) -> str:
        """The rule in words; of several studies, each one's."""
        if len(self.parts) == 1:
            return self.parts[0][1].text()
        return "; and ".join(f"in {study}: {rule.text()}" for study, rule in self.parts)

    @property
    def ids(self) -> str:
        """Where the papers say it."""
        return ", ".join(self.said)


# -- reading them ---------------------------------------------------------------------------------

_FIELDS = ("said", "text", "question", "study", "rule", "also", "untestable", "missing")


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
    papers: Collection[str],
    questions: Collection[str],
    names: Mapping[str, Any],
) -> dict[str, Claim]:
    """Read claims from tables, by name."""
    found: dict[str, Claim] = {}
    said: dict[str, str] = {}  # by whom
    for name, table in tables.items():
        try:
            claim = _read_claim(name, table, papers, names)
            if claim.question not in questions:
                raise RuleError(f"there is no question {claim.question!r}.")
            for sentence in claim.said:
                if sentence in said:
                    raise RuleError(f"{sentence} is said by {said[sentence]} already.")
                said[sentence] = name
        except ValueError as error:
            raise ClaimError(f"claim {name}: {error}") from None
        found[name] = claim
    return found


def _read_claim(
    name: str, table: Mapping[str, Any], papers: Collection[str], names: Mapping[str, Any]
) -> Claim:
    for key in table:
        if key not in _FIELDS:
            raise RuleError(f"there is no field {key!r}; fields are {', '.join(_FIELDS)}.")
    for key in ("text", "question"):
        if not isinstance(table.get(key), str):
            raise RuleError(f"{key} is missing, or no text.")
    if [key in table for key in ("rule", "untestable", "missing")].count(True) != 1:
        raise RuleError("it needs one of rule, untestable (why) and missing (a study).")
    if ("rule" in table) != ("study" in table) or ("also" in table and "rule" not in table):
        raise RuleError("it needs both study and rule, or neither, and also only with them.")
    given = {table["study"]: table["rule"], **table.get("also", {})} if "rule" in table else {}
    texts = {
        key: names.get(table[key], table[key]) for key in ("untestable", "missing") if key in table
    }
    return Claim(
        name,
        _read_said(table.get("said"), papers),
        table["text"],
        table["question"],
        tuple((study, rule_of(rule, names)) for study, rule in given.items()),
        **texts,
    )


def _read_said(said: Any, papers: Collection[str]) -> dict[str, int]:
    """Read which sentences say it."""
    if not isinstance(said, dict) or not said:
        raise RuleError('said is missing; expected { "medn-7.1.1-a" = 3 }, ids with paragraphs.')
    for sentence, place in said.items():
        match = _ID.fullmatch(sentence)
        if not match or match[1] not in papers:
            raise RuleError(
                f"{sentence!r} is no id of paper, section and a letter, such as medn-7.1.1-a; "
                f"papers are {', '.join(papers)}."
            )
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise RuleError(f"the paragraph of {sentence} is {place!r}; expected a whole number.")
    return dict(said)


def read_readings(
    tables: Mapping[str, Mapping[str, Mapping[str, Roles]]],
) -> dict[str, dict[str, dict[str, Roles]]]:
    """Read which models play the roles: by study, reading and variant."""
    for study, readings in tables.items():
        for reading, variants in readings.items():
            where = f"readings.{study}.{reading}"
            if reading not in READINGS:
                raise ClaimError(f"{where}: there are readings {listed(READINGS)}, no others.")
            if not {*variants} - {_ALL} or not all(isinstance(r, dict) for r in variants.values()):
                raise ClaimError(f'{where}: expected variants by name, such as "exact" = {{}}.')
    return {
        study: {name: _shared(readings[name]) for name in READINGS if name in readings}
        for study, readings in tables.items()
    }


def _shared(variants: Mapping[str, Roles]) -> dict[str, Roles]:
    """Give each variant what all of a reading share."""
    shared = variants.get(_ALL, {})
    return {name: {**shared, **roles} for name, roles in variants.items() if name != _ALL}


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
    *(
        "frozen",
        "seen",
        "later",
        "papers",
        "margins",
        "words",
        "units",
        "names",
        "readings",
        "claims",
    ),
)
FROZEN: str = _FILE["frozen"]
"""The commit that fixed the rules; empty as long as they are not fixed."""
SEEN: tuple[str, ...] = tuple(_FILE["seen"])
"""Studies whose tables were there by then."""
LATER: dict[str, str] = _FILE["later"]
"""Studies whose rules came later, and the commits that fixed these before there were tables."""
PAPERS: dict[str, str] = _FILE["papers"]
"""The papers, by what begins the ids of their sentences."""
UNITS: dict[str, str] = _FILE["units"]
"""What each unit means."""
MARGINS = _meanings(_FILE["words"], _FILE["margins"])
"""What the papers' words are taken to mean."""
NAMES: dict[str, Any] = {**_FILE["margins"], **_FILE["names"]}
"""What margins, lists of models and texts are called that recur."""
ROLES = read_readings(_FILE["readings"])
"""Which models play the roles, by study, reading and variant."""
QUESTIONS: dict[str, Any] = read_toml(read_text("questions.toml"), "questions")["questions"]
"""The questions that the page begins with, as they are written."""
CLAIMS = read_claims(_FILE["claims"], papers=PAPERS, questions=QUESTIONS, names=NAMES)
"""The claims by name."""


def readings_of(claim: Claim) -> list[str]:
    """Return the readings of its studies, as far as all of these have them that have any."""
    several = [ROLES[study] for study in claim.studies if study in ROLES]
    if not several:
        return [AS_RUN]
    return [name for name in READINGS if all(name in readings for readings in several)]


def variants_of(study: str, reading: str) -> Mapping[str, Roles]:
    """Return who plays the roles in a reading, by variant."""
    return ROLES[study][reading] if study in ROLES else {"": {}}
