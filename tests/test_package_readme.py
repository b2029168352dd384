"""The README keeps its word: its example, its commands, its tables; and it stays short."""

import contextlib
import io
import re
import warnings
from pathlib import Path

from medn_edu.course.navigation import course_map
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.ocr_full import error_table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "figures" / "measured.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_example_is_short_and_prints_what_it_says():
    (code,), (output,) = blocks("python"), blocks("text")
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output
    assert len(README.splitlines()) <= 120


def test_commands_have_twins_in_powershell_and_are_found_by_the_check_script():
    shell = [command.strip() for command in blocks("bash")]
    twins = [
        command.replace("python3 -m venv", "py -3.11 -m venv")
        .replace(" && ", "; ")
        .replace(".venv/bin/", ".venv\\Scripts\\")
        for command in shell
    ]
    assert len(shell) == 2
    assert "".join(blocks("powershell")).splitlines() == twins
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    ends = re.findall(r'readme_command "([^"]+)"', script)
    assert [[c for c in shell if c.endswith(end)] for end in ends] == [[c] for c in shell]


def between_marks(name: str, page: str = MEASURED) -> str:
    return page.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]


def test_tables_are_those_of_the_syllabus_the_bench_and_the_stored_studies():
    """The last is a test of the text, not of this run: `medn-edu reproduce` publishes what is stored."""
    assert between_marks("course", README) == course_map("notebooks/") + "\n"
    assert len(re.findall(r"^\|", between_marks("bench"), re.MULTILINE)) >= 7
    stored = [stored_rows(name, ROOT / "figures") for name in ("ocr", "ocr-full")]
    assert between_marks("errors") == error_table(*stored)


def test_nothing_is_left_to_fill_in():
    assert not re.search(r"\b[A-Z]+_[A-Z]+\b(?!\()", re.sub(r"`[^`]*`", "", README))
