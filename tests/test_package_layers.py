"""Who may import whom: imports go down only, and each heavy library has one room."""

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
    {"priors", "slacks", "samples"},
    {"inference"},
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
# Two rooms know less than their floor would let them; data sets are labelled by sampling.
ONLY = {
    "datasets": {"checks", "files", "inference", "samples"},
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
DISTRIBUTION = {"PIL": "pillow", "pycrfsuite": "python-crfsuite", "sklearn": "scikit-learn"}


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


PATHS = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Every import of a module as (dotted name, line, whether at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []

    def visit(node: ast.AST, outside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, child.lineno, outside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                names = [alias.name for alias in child.names]
                dots = "." * child.level  # relative imports stay visible, for the first test
                found.extend(
                    (f"{dots}{child.module}.{name}", child.lineno, outside) for name in names
                )
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            visit(child, outside and not is_function)

    visit(tree, True)
    return found


@pytest.fixture(scope="module")
def every_import() -> list[tuple[str, str, str, bool]]:
    """Every import of the package, as (place, room, imported name, whether at module level)."""
    return [
        (f"{path.relative_to(PACKAGE).as_posix()}:{line}", room_of(path), name, outside)
        for path in PATHS
        for name, line, outside in imports(path)
    ]


def test_every_room_has_a_floor():
    rooms = {room_of(path) for path in PATHS}
    assert rooms == set().union(*FLOORS)


def test_imports_go_down(every_import):
    wrong = []
    seen = 0
    for place, room, name, _ in every_import:
        parts = name.split(".")
        if name.startswith("."):
            wrong.append(f"{place} imports relatively")
        if parts[0] != "medn_edu" or len(parts) == 1:
            continue
        found = getattr(medn_edu, parts[1])  # a room, or what lives in one
        home = getattr(found, "__module__", None) or getattr(found, "__name__", "")
        target = home.removeprefix("medn_edu.").split(".")[0] or parts[1]
        if target in (room, "__version__"):
            continue
        seen += 1
        if room in ONLY and target not in ONLY[room]:
            wrong.append(f"{place}: {room} may not import {target}")
        if floor(target) >= floor(room):
            wrong.append(f"{place}: {room} imports upward, {target}")
    assert not wrong
    assert seen > 500


def test_heavy_libraries_stay_in_their_rooms(every_import):
    tops = [(place, room, name.split(".")[0]) for place, room, name, _ in every_import]
    assert {"numba", "matplotlib", "anywidget"} <= {top for _, _, top in tops}
    assert not [
        f"{place}: {top} belongs in {HOME[top]}"
        for place, room, top in tops
        if top in HOME and room not in HOME[top]
    ]


def test_imported_libraries_are_declared(every_import):
    """Module-level imports are dependencies; an extra's library is imported where it is used."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}

    core = names(project["dependencies"])
    extra = core.union(*map(names, project["optional-dependencies"].values()))
    missing = []
    for place, _, name, outside in every_import:
        top = name.split(".")[0]
        own = top in ("", "medn_edu") or top in sys.stdlib_module_names
        if not own and DISTRIBUTION.get(top, top) not in (core if outside else extra):
            missing.append(f"{place}: {top} is not declared")
    assert not missing
