"""Why claims do not hold: two sentences each, whose numbers are computed from the tables.

A finding is shown only where the claim does not hold, or is mixed, and where the tables say what its
sentences conclude: each has a condition for that.  It names what was looked at; it is no part of the
rule, and may be written after the study has run.  Findings are written in ``findings.toml``, whose
first lines explain the fields; what their numbers may ask of the tables stands in `claims.quantities`.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from medn_edu.studies.claims.claim import CLAIMS, ClaimError, read_toml
from medn_edu.studies.claims.quantities import Quantities, Tables

_FIELDS = ("claims", "text", "when", "numbers")
_PLAIN = ("abs", "all", "len", "max", "min", "sorted", "sum", "zip")
_BUILTINS = {name: getattr(builtins, name) for name in _PLAIN}


@dataclass(frozen=True)
class Finding:
    """What is known of the reason."""

    text: str  # with names of numbers in braces, and how they are written
    when: CodeType
    numbers: Mapping[str, CodeType]
    given: Mapping[str, Any] = field(default_factory=dict)  # what differs from claim to claim


def finding_of(claim_id: str, tables: Tables) -> str:
    """Return what is known of why a claim does not hold; nothing where the tables do not say it."""
    finding = FINDINGS.get(claim_id)
    if finding is None:
        return ""
    names = {"__builtins__": _BUILTINS, **finding.given, **Quantities(tables).all()}
    try:
        for name, code in finding.numbers.items():
            names[name] = eval(code, names)
        return finding.text.format(**names) if eval(finding.when, names) else ""
    except LookupError:
        return ""


# ---------------------------------------------------------------------------------------------
# reading them


def read_findings(
    tables: Mapping[str, Mapping[str, Any]], *, texts: Mapping[str, str], claims: Collection[str]
) -> dict[str, Finding]:
    """Read findings from tables, by id of the claim."""
    found: dict[str, Finding] = {}
    for name, table in tables.items():
        try:
            for claim_id, finding in _read(table, texts).items():
                if claim_id not in claims:
                    raise ValueError(f"there is no claim {claim_id!r}.")
                if claim_id in found:
                    raise ValueError(f"claim {claim_id} has another finding already.")
                found[claim_id] = finding
        except ValueError as error:
            raise ClaimError(f"finding {name}: {error}") from None
    return found


def _read(table: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Finding]:
    for key in table:
        if key not in _FIELDS:
            raise ValueError(f"there is no field {key!r}; fields are {', '.join(_FIELDS)}.")
    for key in _FIELDS:
        if key not in table:
            raise ValueError(f"{key} is missing.")
    text = table["text"]
    for name, part in texts.items():
        text = text.replace(f"{{{name}}}", part)
    claims = table["claims"]
    given = claims if isinstance(claims, dict) else {claim_id: {} for claim_id in claims}
    return {claim_id: _compiled(table, text, names) for claim_id, names in given.items()}


def _compiled(table: Mapping[str, Any], text: str, given: Mapping[str, Any]) -> Finding:
    """Check that all names are known, and prepare what is to be computed."""
    known = {*_PLAIN, *Quantities.NAMES, *given}
    numbers = {}
    for name, expression in table["numbers"].items():
        if name in known:
            raise ValueError(f"a number cannot be called {name!r}, which means something else.")
        numbers[name] = _code(expression, known)
        known.add(name)
    for _, name, _, _ in string.Formatter().parse(text):
        if name is not None and name.split(".")[0].split("[")[0] not in {*numbers, *given}:
            raise ValueError(f"there is no number {name!r} for its place in the text.")
    return Finding(text, _code(table["when"], known), numbers, given)


def _code(expression: str, known: Collection[str]) -> CodeType:
    try:
        tree = ast.parse(f"({expression})", mode="eval")  # which may have several lines
    except SyntaxError:
        raise ValueError(f"{expression!r} is no expression.") from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}  # of "for ... in"
    for node in names:
        if node.id not in own and node.id not in known:
            raise ValueError(f"there is no quantity or number {node.id!r}, as in {expression!r}.")
    return compile(tree, "findings.toml", "eval")


_FILE = read_toml("findings.toml")
LOOKED_AT: tuple[str, ...] = tuple(_FILE["looked_at"])
"""Studies that no claim is about, but findings look at."""
FINDINGS = read_findings(_FILE["findings"], texts=_FILE["texts"], claims=CLAIMS)
"""What is known, by id of the claim."""
