"""Who may import whom: imports go down only, and each heavy library has one room."""

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import medn_edu

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "medn_edu"
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef

# A room may import the rooms on the floors below its own.
FLOORS = [
    {"checks", "files", "intervals", "kernels"},
    {"priors", "slacks", "samples"},
    {"inference", "text"},
    {"problems"},
    {"results"},
    {"solvers"},
    {"estimators"},
    {"datasets", "theory"},
    {"explorers"},
    {"studies"},
    {"bench"},
    {"course"},
    {"cli"},
]
# Three rooms know less than their floor would let them; data sets are labelled by sampling.
ONLY = {
    "datasets": {"checks", "files", "inference", "samples", "text"},
    "text": {"checks", "files", "samples"},
    "theory": {"checks", "inference", "priors", "samples", "slacks"},
}
HOME = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "matplotlib": {"explorers", "studies"},
    "ipywidgets": {"explorers"},
    "anywidget": {"explorers"},
}
# Import names that differ from the names of what is installed.
DISTRIBUTION = {
    "IPython": "ipython",
    "PIL": "pillow",
    "pycrfsuite": "python-crfsuite",
    "sklearn": "scikit-learn",
}


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


PATHS = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imports(path: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Every import of a module as (place, room, imported name, whether at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    inside = {node for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = [node.module] if isinstance(node, ast.ImportFrom) else []
            for alias in node.names:
                place = f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
                yield place, room_of(path), ".".join([*home, alias.name]), node not in inside


@pytest.fixture(scope="module")
def every_import() -> list[tuple[str, str, str, bool]]:
    return [found for path in PATHS for found in imports(path)]


def test_every_room_has_a_floor():
    assert {room_of(path) for path in PATHS} == set().union(*FLOORS)


def test_imports_go_down_and_heavy_libraries_stay_in_their_rooms(every_import):
    wrong, seen = [], Counter()
    for place, room, name, _ in every_import:
        top, *parts = name.split(".")
        seen[top] += 1
        if room not in HOME.get(top, {room}):
            wrong.append(f"{place}: {top} belongs in {HOME[top]}")
        if top != "medn_edu" or not parts:
            continue
        found = getattr(medn_edu, parts[0], None)  # a room, or what lives in one
        home = getattr(found, "__module__", None) or getattr(found, "__name__", "")
        target = home.removeprefix("medn_edu.").split(".")[0] or parts[0]
        if target in (room, "__version__"):
            continue
        if room in ONLY and target not in ONLY[room]:
            wrong.append(f"{place}: {room} may not import {target}")
        if floor(target) >= floor(room):
            wrong.append(f"{place}: {room} imports upward, {target}")
    assert not wrong
    assert seen["medn_edu"] > 500
    assert {"numba", "matplotlib", "anywidget"} <= set(seen)


def test_imported_libraries_are_declared(every_import):
    """Module-level imports are dependencies; an extra's library is imported where it is used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {Requirement(requirement).name for requirement in requirements}

    core = names(project["dependencies"])
    extra = core.union(*map(names, project["optional-dependencies"].values()))
    missing = []
    for place, _, name, outside in every_import:
        top = name.split(".")[0]
        own = top == "medn_edu" or top in sys.stdlib_module_names
        if not own and DISTRIBUTION.get(top, top) not in (core if outside else extra):
            missing.append(f"{place}: {top} is not declared")
    assert not missing
