"""Facts about the files: pins, citation, and what must not be in any of them."""

import contextlib
import re
import subprocess
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import medn_edu
from medn_edu.cli import site

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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


def test_no_file_is_large_or_holds_what_is_forbidden():
    found = []
    for name in tracked():
        content = (ROOT / name).read_bytes()
        assert len(content) <= 3_000_000, name
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode()
            for what, pattern in FORBIDDEN.items():
                found += [(name, what, match[0]) for match in re.finditer(pattern, text)]
    its_data = (".ci/run", "a folder beside the repository")  # it alone looks there
    assert not [each for each in found if each[:2] != its_data]


def test_dependencies_have_lower_bounds_no_caps_and_pins_for_binder():
    dependencies = list(map(Requirement, PROJECT["dependencies"]))
    for requirement in dependencies:
        assert [s.operator for s in requirement.specifier] == [">="], requirement
    lines = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    exact = [line.split("==") for line in lines if not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in exact}
    extras = PROJECT["optional-dependencies"]
    lab = [Requirement(each) for each in (*extras["lab"], *extras["web"])]
    for requirement in (*dependencies, *(each for each in lab if each.name != "medn_edu")):
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is not pinned; run python3.11 binder/pin.py"
        assert requirement.specifier.contains(pinned[name]), f"{name}=={pinned[name]} is too old"
    version = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def installed(extra: str) -> set[str]:
    """What an extra installs, by itself and by other extras of ours."""
    found = set()
    for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
        if requirement.name == "medn_edu":
            found = found.union(*map(installed, requirement.extras))
        else:
            found.add(canonicalize_name(requirement.name))
    return found


def test_the_extra_site_installs_all_that_its_command_needs():
    homes = packages_distributions()
    assert {canonicalize_name(homes[name][0]) for name in site.NEEDS} <= installed("site")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source archive may lose the modes")
def test_scripts_are_executable():
    for name in (".ci/run", "binder/postBuild", "binder/start"):
        assert git("ls-files", "-s", name)[0].startswith("100755")


def test_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert citation["version"] == medn_edu.__version__
    assert len(citation["references"]) == 5
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        assert all({"family-names", "given-names"} == set(a) for a in reference["authors"])
