"""The README keeps its word: its examples, its commands, its links."""

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


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_examples_are_short_and_print_what_they_say():
    codes, outputs, names = blocks("python"), blocks("text"), {}
    lines = [[line for line in code.splitlines() if line] for code in codes]
    assert len([line for line in lines[0] if "import" not in line]) <= 10
    assert len(codes) == 6
    assert len(lines[1]) <= 15
    assert len(lines[2]) <= 7
    assert len(lines[3]) <= 15
    assert len(lines[4]) <= 10
    assert len(lines[5]) <= 32
    for code, output in zip(codes, outputs, strict=False):  # the tree of files is text, too
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue() == output


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


def between_marks(name: str) -> str:
    return README.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]


def test_tables_are_those_of_the_syllabus_the_bench_and_the_stored_studies():
    """The last is a test of the text, not of this run: `medn-edu reproduce` publishes what is stored."""
    assert between_marks("course") == course_map("notebooks/") + "\n"
    assert len(re.findall(r"^\|", between_marks("bench"), re.MULTILINE)) >= 7
    stored = [stored_rows(name, ROOT / "figures") for name in ("ocr", "ocr-full")]
    assert between_marks("errors") == error_table(*stored)


def test_nothing_is_left_to_fill_in():
    assert not re.search(r"\b[A-Z]+_[A-Z]+\b(?!\()", re.sub(r"`[^`]*`", "", README))
