"""The README keeps its word: its examples, its commands, its links."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from medn_edu.course.navigation import course_map
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.ocr_full import error_table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_examples_print_what_they_say():
    codes, outputs, names = blocks("python"), blocks("text"), {}
    assert len(codes) == 3
    for code, output in zip(codes, outputs, strict=False):  # the tree of files is text, too
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue() == output


def test_examples_are_short():
    first, prior, sparse = blocks("python")
    lines = [line for line in first.splitlines() if line and "import" not in line]
    assert len(lines) <= 10
    assert sum(1 for line in prior.splitlines() if line) <= 15
    assert sum(1 for line in sparse.splitlines() if line) <= 7


def test_powershell_commands_are_twins():
    shell = [command.strip() for command in blocks("bash")]
    twins = [
        command.replace("python3 -m venv", "py -3.11 -m venv")
        .replace(" && ", "; ")
        .replace(".venv/bin/", ".venv\\Scripts\\")
        for command in shell
    ]
    assert len(shell) == 2
    assert "".join(blocks("powershell")).splitlines() == twins


def test_commands_are_found_by_the_check_script():
    shell = [command.strip() for command in blocks("bash")]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    ends = re.findall(r'readme_command "([^"]+)"', script)
    assert [[c for c in shell if c.endswith(end)] for end in ends] == [[c] for c in shell]


def test_every_notebook_is_listed():
    listed = set(re.findall(r"\]\((notebooks/[^)]+\.ipynb)\)", README))
    assert listed == {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_the_course_is_that_of_the_syllabus():
    """The table is made by `medn_edu.course.navigation.course_map`."""
    assert README.split("<!-- course -->\n")[1].split("\n<!-- /course -->")[0] == course_map(
        "notebooks/"
    )


def test_measured_numbers_are_there():
    table = README.split("<!-- bench -->")[1].split("<!-- /bench -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) >= 7


def test_errors_are_those_of_the_stored_studies():
    """A test of the text, not of this run: what is stored is published by `medn-edu reproduce`."""
    try:
        stored = [stored_rows(name, ROOT / "figures") for name in ("ocr", "ocr-full")]
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    assert README.split("<!-- errors -->\n")[1].split("<!-- /errors -->")[0] == error_table(*stored)


def test_nothing_is_left_to_fill_in():
    assert not re.search(r"\b[A-Z]+_[A-Z]+\b(?!\()", re.sub(r"`[^`]*`", "", README))
