"""What we had to choose where the papers are silent, and which claims could hang on it.

A caveat is written in ``caveats.toml``.  It belongs to claims that it names, or to all that a study
decides, or to those of them that are about certain models.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medn_edu.studies.claims.claim import CLAIMS, Claim, ClaimError, read_text, read_toml

_FIELDS = ("text", "claims", "studies", "models")


@dataclass(frozen=True)
class Caveat:
    """Something that we had to choose."""

    number: int  # its place among all
    name: str  # in a few words
    text: str

    @property
    def mark(self) -> str:
        """A letter, by which claims point to it."""
        return string.ascii_letters[self.number]


def read_caveats(
    tables: Mapping[str, Mapping[str, Any]], claims: Mapping[str, Claim]
) -> dict[str, tuple[Caveat, ...]]:
    """Read caveats from tables, by name of the claim, in their order."""
    found: dict[str, list[Caveat]] = {name: [] for name in claims}
    for number, (name, table) in enumerate(tables.items()):
        for key in table:
            if key not in _FIELDS:
                raise ClaimError(
                    f"caveat {name}: there is no field {key!r}; fields are {', '.join(_FIELDS)}."
                )
        if not isinstance(table.get("text"), str):
            raise ClaimError(f"caveat {name}: text is missing, or no text.")
        for claim in table.get("claims", ()):
            if claim not in claims:
                raise ClaimError(f"caveat {name}: there is no claim {claim!r}.")
        about = [each.name for each in claims.values() if _is_about(table, each)]
        if not about:
            raise ClaimError(f"caveat {name}: it is about no claim; expected claims, or studies.")
        for each in about:
            found[each].append(Caveat(number, name, " ".join(table["text"].split())))
    return {name: tuple(caveats) for name, caveats in found.items()}


def _is_about(table: Mapping[str, Any], claim: Claim) -> bool:
    if claim.name in table.get("claims", ()):
        return True
    rules = [rule for study, rule in claim.parts if study in table.get("studies", ())]
    models = {name for rule in rules for name in rule.names()}
    return bool(rules) and ("models" not in table or bool(models & {*table["models"]}))


CAVEATS = read_caveats(read_toml(read_text("caveats.toml"), "caveats")["caveats"], CLAIMS)
"""What we had to choose, by name of the claim."""
