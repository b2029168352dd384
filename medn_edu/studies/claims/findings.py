"""Why claims do not hold: two sentences each, whose numbers are computed from the tables.

A finding is shown only where the claim does not hold, or is mixed, and where the tables say what its
sentences conclude: each has a condition for that.  It names what was looked at; it is no part of the
rule, and may be written after the study has run.  Findings are written in ``findings.toml``, whose
first lines explain the fields; what their numbers may ask of the tables stands in `claims.quantities`.
"""

import ast
import builtins
import inspect
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from medn_edu.studies.claims.claim import CLAIMS, ClaimError, read_text, read_toml
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
    given: Mapping[str, Any]  # what differs from claim to claim
    calls: tuple[ast.Call, ...]  # of quantities, to check whom they are about


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
    except ValueError as error:
        raise ClaimError(f"finding on {claim_id}: {error}") from None


# -- reading them ---------------------------------------------------------------------------------


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
    numbers, calls = {}, []
    for name, expression in table["numbers"].items():
        if name in known:
            raise ValueError(f"a number cannot be called {name!r}, which means something else.")
        tree = _tree(expression, known)
        calls += [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        numbers[name] = compile(tree, name, "eval")
        known.add(name)
    for _, name, _, _ in string.Formatter().parse(text):
        if name is not None and name.split(".")[0].split("[")[0] not in {*numbers, *given}:
            raise ValueError(f"there is no number {name!r} for its place in the text.")
    when = compile(_tree(table["when"], known), "when", "eval")
    return Finding(text, when, numbers, given, tuple(calls))


def _tree(expression: str, known: Collection[str]) -> ast.Expression:
    try:
        tree = ast.parse(f"({expression})", mode="eval")  # which may have several lines
    except SyntaxError:
        raise ValueError(f"{expression!r} is no expression.") from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}  # of "for ... in"
    for node in names:
        if node.id not in own and node.id not in known:
            raise ValueError(f"there is no quantity or number {node.id!r}, as in {expression!r}.")
    return tree


_MODELS = ("model", "models", "worse", "better", "first", "second", "algorithm")


def check_names(findings: Mapping[str, Finding]) -> None:
    """Complain about studies that there are not, and models that they do not train."""
    from medn_edu.studies.registry import STUDIES  # which imports all models

    quantities = Quantities({}).all()
    for claim_id, finding in findings.items():
        for call in finding.calls:
            if not isinstance(call.func, ast.Name) or call.func.id not in quantities:
                continue
            named = {str(word.arg): word.value for word in call.keywords}
            bound = inspect.signature(quantities[call.func.id]).bind(*call.args, **named).arguments
            asked = {
                name: _texts(node, finding.given)
                for name, node in {**bound, **bound.get("fields", {})}.items()
                if isinstance(node, ast.expr)
            }
            otherwise = "l1m3n-algorithms" if "algorithm" in asked else "synthetic-correlated"
            for study in asked.get("study", [otherwise]):
                if study not in STUDIES:
                    raise ClaimError(f"finding on {claim_id}: there is no study {study!r}.")
                for model in (text for name in _MODELS for text in asked.get(name, [])):
                    if model not in STUDIES[study].models:
                        raise ClaimError(
                            f"finding on {claim_id}: study {study} trains no model {model!r}."
                        )


def _texts(node: ast.expr, given: Mapping[str, Any]) -> list[str]:
    """Return the texts that an argument holds, or that it is a name of."""
    parts = list(ast.walk(node))
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts += [given[part.id] for part in parts if isinstance(part, ast.Name) and part.id in given]
    return [text for text in texts if isinstance(text, str)]


_FILE = read_toml(read_text("findings.toml"), "looked_at", "texts", "findings")
LOOKED_AT: tuple[str, ...] = tuple(_FILE["looked_at"])
"""Studies that no claim is about, but findings look at."""
FINDINGS = read_findings(_FILE["findings"], texts=_FILE["texts"], claims=CLAIMS)
"""What is known, by id of the claim."""
