"""Sentences with numbers from the tables: answers to questions, and why claims do not hold.

Each has a condition, and is shown only where the tables say what it concludes.  A finding names what was
looked at where a claim does not hold; it is no part of the rule, and may be written after the study has
run.  Findings are written in ``findings.toml``, questions with their answers in ``questions.toml``;
what their numbers may ask of the tables stands in `claims.quantities`.
"""

import ast
import builtins
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from medn_edu.studies.claims.claim import CLAIMS, QUESTIONS, ClaimError, read_text, read_toml
from medn_edu.studies.claims.quantities import Quantities

_PLAIN = ("abs", "all", "len", "max", "min", "sorted", "sum", "zip")
_BUILTINS = {name: getattr(builtins, name) for name in _PLAIN}


@dataclass(frozen=True)
class Finding:
    """A sentence or two, and when they are said."""

    where: str  # it is written
    text: str  # with names of numbers in braces, and how they are written
    when: CodeType
    numbers: Mapping[str, CodeType]
    given: Mapping[str, Any]  # what differs from claim to claim
    calls: tuple[ast.Call, ...]  # of quantities, to check whom they are about

    def say(self, quantities: Quantities) -> str:
        """Return its sentences; nothing where the tables do not say so."""
        names = {"__builtins__": _BUILTINS, **self.given, **quantities.all()}
        try:
            for name, code in self.numbers.items():
                names[name] = eval(code, names)
            return self.text.format(**names) if eval(self.when, names) else ""
        except LookupError:
            return ""
        except (ValueError, TypeError) as error:
            raise ClaimError(f"{self.where}: {error}") from None


def finding_of(claim: str, quantities: Quantities) -> str:
    """Return what is known of the reasons of a verdict; nothing where the tables do not say it."""
    return FINDINGS[claim].say(quantities) if claim in FINDINGS else ""


def answer_to(question: str, quantities: Quantities) -> str:
    """Return the first answer that the tables give; nothing if they give none."""
    answers = (answer.say(quantities) for answer in ANSWERS[question])
    return next(filter(None, answers), "")


# -- reading them ---------------------------------------------------------------------------------


def read_findings(
    tables: Mapping[str, Mapping[str, Any]], *, claims: Collection[str]
) -> dict[str, Finding]:
    """Read findings from tables, by name of the claim."""
    found: dict[str, Finding] = {}
    for name, table in tables.items():
        where = f"finding {name}"
        of = table.get("claims", {})
        for claim, given in of.items() if isinstance(of, dict) else [(each, {}) for each in of]:
            if claim not in claims:
                raise ClaimError(f"{where}: there is no claim {claim!r}.")
            if claim in found:
                raise ClaimError(f"{where}: claim {claim} has another finding already.")
            found[claim] = _read(where, table, ("claims",), given)
    return found


def read_answers(tables: Mapping[str, Any]) -> dict[str, list[Finding]]:
    """Read the answers to questions, by name of the question; numbers of a question are all answers'."""
    found: dict[str, list[Finding]] = {}
    for name, table in tables.items():
        if not isinstance(table.get("text"), str) or not {*table} <= {"text", "numbers", "answers"}:
            raise ClaimError(f"question {name}: expected text, numbers and answers.")
        found[name], shared = [], table.get("numbers", {})
        for k, answer in enumerate(table.get("answers", []), 1):
            answer = {**answer, "numbers": {**shared, **answer.get("numbers", {})}}
            found[name].append(_read(f"question {name}, answer {k}", answer))
    return found


def _read(
    where: str,
    table: Mapping[str, Any],
    others: Sequence[str] = (),
    given: Mapping[str, Any] | None = None,
) -> Finding:
    """Check that all names are known, and prepare what is to be computed."""
    fields = (*others, "text", "when", "numbers")
    for key in table:
        if key not in fields:
            raise ClaimError(f"{where}: there is no field {key!r}; fields are {', '.join(fields)}.")
    for key in ("text", "when"):
        if key not in table:
            raise ClaimError(f"{where}: {key} is missing.")
    try:
        return _compiled(where, table["text"], table["when"], table.get("numbers", {}), given or {})
    except ValueError as error:
        raise ClaimError(f"{where}: {error}") from None


def _compiled(
    where: str, text: str, when: str, expressions: Mapping[str, str], given: Mapping[str, Any]
) -> Finding:
    known = {*_PLAIN, *Quantities.NAMES, *given}
    numbers, trees = {}, []
    for name, expression in expressions.items():
        if name in known:
            raise ValueError(f"a number cannot be called {name!r}, which means something else.")
        trees.append(_tree(expression, known))
        numbers[name] = compile(trees[-1], name, "eval")
        known.add(name)
    for _, place, _, _ in string.Formatter().parse(text):
        if place is not None and place.split(".")[0].split("[")[0] not in {*numbers, *given}:
            raise ValueError(f"there is no number {place!r} for its place in the text.")
    trees.append(_tree(when, known))
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return Finding(where, text, compile(trees[-1], "when", "eval"), numbers, given, tuple(calls))


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


_FILE = read_toml(read_text("findings.toml"), "looked_at", "findings")
LOOKED_AT: tuple[str, ...] = tuple(_FILE["looked_at"])
"""Studies that no claim is about, but findings look at."""
FINDINGS = read_findings(_FILE["findings"], claims=CLAIMS)
"""What is known of why claims do not hold, by name of the claim."""
ANSWERS = read_answers(QUESTIONS)
"""Answers, by name of the question; the first that the tables give is shown."""
