"""The explorers of a saved notebook: the cells that make them are run, and no more than these need."""

import ast
import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import Any

from medn_edu.explorers.kit.explorer import Explorer


def moves(output: Mapping[str, Any]) -> bool:
    """Return whether an output is the picture of an explorer."""
    return bool(output.get("metadata", {}).get("medn_edu", {}).get("moves"))


def explorers(notebook: Mapping[str, Any]) -> Iterator[tuple[int, Explorer]]:
    """Yield the explorers that a notebook shows, each with the number of its cell.

    Most cells that show one are complete by themselves.  Where one lacks a name, all earlier cells are
    run first.
    """
    namespace: dict[str, Any] = {}
    run: set[int] = set()
    code = {
        number: "".join(cell["source"])
        for number, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
    }
    for number, source in code.items():
        if not any(moves(output) for output in notebook["cells"][number]["outputs"]):
            continue
        try:
            shown = _value(source, namespace)
        except NameError:
            for earlier in code:
                if earlier < number and earlier not in run:
                    _value(code[earlier], namespace)
                    run.add(earlier)
            shown = _value(source, namespace)
        run.add(number)
        if not isinstance(shown, Explorer):
            raise ValueError(f"cell {number} has saved an explorer's picture, but shows {shown!r}.")
        yield number, shown


def _value(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell, print nothing, and return the value of its last line."""
    *body, last = ast.parse(source).body
    shows = isinstance(last, ast.Expr)
    with contextlib.redirect_stdout(io.StringIO()):
        before = ast.Module(body if shows else [*body, last], [])
        exec(compile(before, "<cell>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    return None
