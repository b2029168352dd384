"""Facts about the files: pins, citation, notebooks, and what must not be in any of them."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import medn_edu

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Written as patterns that do not match themselves.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(?:wor[k]|hom[e]/(?!jovyan)|Use[r]s|tmp/bash_job[s])/",
    "a folder beside the repository": r"\.\./share[d]",
    "a package index": r"(?:extra-)?index[-_]ur[l]|find[-_]link[s]|https?://[^\s\"')>]*/simpl[e]\b",
    "something unfinished": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b|raise NotImplementedErro[r]",
}


def git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def tracked() -> list[str]:
    """Files of the repository; of an unpacked source archive, all of them."""
    if (ROOT / ".git").exists():
        return [name for name in git("ls-files") if (ROOT / name).is_file()]
    folders = [ROOT / name for name in ("medn_edu", "tests", "notebooks", "binder")]
    paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in folder.rglob("*.*"))]
    return [path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what):
    found = []
    for name in tracked():
        if name == ".ci/run" and what == "a folder beside the repository":
            continue  # it alone looks there for the data
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        pattern = re.compile(FORBIDDEN[what])
        found += [
            f"{name}:{i}: {m[0]}" for i, line in enumerate(lines, 1) if (m := pattern.search(line))
        ]
    assert not found


def test_no_large_file():
    assert not [name for name in tracked() if (ROOT / name).stat().st_size > 3_000_000]


def pins() -> dict[str, str]:
    lines = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    exact = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in exact}


def test_binder_pins_everything_within_the_bounds():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    wanted = map(Requirement, project["dependencies"] + project["optional-dependencies"]["lab"])
    pinned = pins()
    for requirement in wanted:
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is not pinned; run python3.11 binder/pin.py"
        assert requirement.specifier.contains(pinned[name]), f"{name}=={pinned[name]} is too old"


def test_binder_python_is_supported():
    version = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source archive may lose the modes")
@pytest.mark.parametrize("name", [".ci/run", "binder/postBuild", "binder/start"])
def test_script_is_executable(name):
    assert git("ls-files", "-s", name)[0].startswith("100755")


def test_every_dependency_has_a_lower_bound_and_no_cap():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    for requirement in map(Requirement, project["dependencies"]):
        assert [s.operator for s in requirement.specifier] == [">="], requirement


def test_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert citation["version"] == medn_edu.__version__
    assert len(citation["references"]) == 5
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        assert all({"family-names", "given-names"} == set(a) for a in reference["authors"])


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_notebooks_are_small_and_hold_no_widget_state():
    for path in NOTEBOOKS:
        assert path.stat().st_size < 1_000_000, path.name
        assert "widgets" not in json.loads(path.read_text(encoding="utf-8"))["metadata"], path.name
