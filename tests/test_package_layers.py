"""Who may import whom: imports go down only, and each heavy library has one room."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import medn_edu

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "medn_edu"

# A room may import the rooms on the floors below its own.
FLOORS = [
    {"checks", "files", "intervals", "kernels"},
    {"priors", "slacks", "structures"},
    {"inference", "packing"},
    {"results"},
    {"problems"},
    {"solvers"},
    {"estimators"},
    {"datasets", "theory"},
    {"plots"},
    {"experiments"},
    {"widgets"},
    {"course"},
    {"cli"},
]
# Two rooms know less than their floor would let them; data sets are labelled by sampling.
ONLY = {
    "datasets": {"checks", "files", "inference", "packing", "structures"},
    "theory": {"checks", "inference", "packing", "priors", "results", "slacks", "structures"},
}
HOME = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "matplotlib": {"plots"},
    "ipywidgets": {"widgets"},
    "anywidget": {"widgets"},
}
# Import names that differ from the names of what is installed.
DISTRIBUTION = {"PIL": "pillow", "pycrfsuite": "python-crfsuite", "sklearn": "scikit-learn"}


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Every import of a module as (dotted name, line, whether at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []

    def visit(node: ast.AST, outside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, child.lineno, outside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno} imports relatively"
                names = [f"{child.module}.{alias.name}" for alias in child.names]
                found.extend((name, child.lineno, outside) for name in names)
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            visit(child, outside and not is_function)

    visit(tree, True)
    return found


def ids(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_every_room_has_a_floor():
    rooms = {room_of(path) for path in MODULES}
    assert rooms == set().union(*FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_imports_go_down(path):
    room = room_of(path)
    for name, line, _ in imports(path):
        parts = name.split(".")
        if parts[0] != "medn_edu" or len(parts) == 1:
            continue
        target = medn_edu._HOME.get(parts[1], parts[1])
        if target in (room, "__version__"):
            continue
        if room in ONLY:
            assert target in ONLY[room], f"{path}:{line}: {room} may not import {target}"
        assert floor(target) < floor(room), f"{path}:{line}: {room} imports upward, {target}"


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_heavy_libraries_stay_in_their_rooms(path):
    for name, line, _ in imports(path):
        rooms = HOME.get(name.split(".")[0])
        assert rooms is None or room_of(path) in rooms, f"{path}:{line}: {name} belongs in {rooms}"


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_imported_libraries_are_declared(path):
    """Module-level imports are dependencies; an extra's library is imported where it is used."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}

    core = names(project["dependencies"])
    extra = core.union(*map(names, project["optional-dependencies"].values()))
    for name, line, outside in imports(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top == "medn_edu":
            continue
        declared = core if outside else extra
        assert DISTRIBUTION.get(top, top) in declared, f"{path}:{line}: {top} is not declared"
