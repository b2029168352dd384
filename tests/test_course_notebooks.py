"""Every notebook: its form, its links, its exercises, and outputs that a new run reproduces."""

import ast
import copy
import functools
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from medn_edu.course.build import MOST_BYTES, VIEW, normalise
from medn_edu.course.editions import GUIDE, edition_files
from medn_edu.course.exercises import CHECKS
from medn_edu.course.questions import QUESTIONS
from medn_edu.course.reading import reading, times_table
from medn_edu.course.syllabus import CHAPTERS, ROUTES, chapter
from medn_edu.datasets import status

ROOT = Path(__file__).resolve().parent.parent
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
OCR_STUDY, NOTATION = "13-ocr-study", ROOT / "notebooks" / "notation.ipynb"


@functools.cache
def read(path: Path) -> Any:
    """A notebook, not to be changed by a test."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def imports(source: str) -> list[ast.Import | ast.ImportFrom]:
    every = ast.walk(ast.parse(source))
    return [each for each in every if isinstance(each, ast.Import | ast.ImportFrom)]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


@each_notebook
def test_saved_by_the_build_command(path: Path) -> None:
    notebook = read(path)
    assert normalise(copy.deepcopy(notebook), path.name) == notebook
    assert path.stat().st_size < MOST_BYTES
    assert path.read_bytes().endswith(b"}\n")
    for output in outputs(notebook):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        assert VIEW not in output.get("data", {})
        if "image/png" in output.get("data", {}):  # pictures have words
            text = output.data["text/plain"]
            assert len(text.split()) >= 4
            assert not text.startswith("<")
            assert output.metadata["image/png"]["alt"]


@each_notebook
def test_every_picture_has_a_caption_below_it(path: Path) -> None:
    for cell in code_cells(read(path)):
        kinds = [output.get("data", {}) for output in cell.outputs]
        for picture, below in itertools.zip_longest(kinds, kinds[1:], fillvalue={}):
            if "image/png" in picture:
                assert below.get("text/markdown", "").startswith("**Figure.** "), cell.source


@each_notebook
def test_anatomy(path: Path) -> None:
    text, here = prose(read(path)), next(each for each in CHAPTERS if each.file == path.name)
    parts = ["**You will**"]
    if here.number is not None:  # lessons; in the others readers look things up
        parts += ["## Summary", "**Read next**"]
        parts += ["*Two questions before you begin.*", "## Exercise 1", "## Exercise 2"]
    for part in parts:
        assert part in text, part
    head = re.search(r"\*\*Minutes\*\* (\d+)[^\n]*\*\*Assumes\*\*([^\n]*)", text)
    assert head is not None
    assert int(head[1]) == here.minutes <= 45
    if here.number is not None:
        assert here.minutes == reading(path).rounded
    for each in map(chapter, here.assumes):
        assert f"[{each.slug}]({each.file})" in head[2], each.slug
    for cell in code_cells(read(path)):
        assert len(cell.source.splitlines()) <= 15, cell.source
        assert not cell.source.rstrip().endswith(";")


@each_notebook
def test_teaching_is_not_testing(path: Path) -> None:
    """At most one line of code in twenty asserts something, and no cell has a wall of imports."""
    for cell in code_cells(read(path)):
        assert sum(len(each.names) for each in imports(cell.source)) <= 8, cell.source
    lines = [
        line for cell in code_cells(read(path)) for line in cell.source.splitlines() if line.strip()
    ]
    asserting = [line for line in lines if re.search(r"\bassert\b|np\.testing|\braise\b", line)]
    assert len(asserting) <= 0.05 * len(lines), asserting


@each_notebook
def test_explorers_stand_between_a_prediction_and_what_to_see(path: Path) -> None:
    cells, before = read(path).cells, ""
    for number, cell in enumerate(cells):
        if cell.cell_type == "code" and re.search(r"^explorer", cell.source, re.MULTILINE):
            asked = [each.source.split("\n")[-1] for each in cells[number - 2 : number]]
            assert "*Predict first:*" in before or set(asked) & set(QUESTIONS)
            assert any("image/png" in output.get("data", {}) for output in cell.outputs)
            if re.search(r"^explorer = \w+\(", cell.source, re.MULTILINE):
                below = next(c.source for c in cells[number:] if c.cell_type == "markdown")
                assert re.match(r"(<details><summary>)?What to see", below)
                assert len(re.findall(r"^- ", below, re.MULTILINE)) >= 2
        before = cell.source if cell.cell_type == "markdown" else before


@each_notebook
def test_new_symbols_are_in_the_notation(path: Path) -> None:
    line = re.search(r"\*\*New symbols\*\*([^\n]*)", prose(read(path)))
    new = re.findall(r"\$(.+?)\$", line[1]) if line else []
    assert len(new) <= 3
    slug = path.stem.lstrip("0123456789-")
    section = prose(read(NOTATION)).partition(f"### {slug}\n")[2].partition("\n#")[0]
    rows = [row.split(" | ")[0] for row in section.splitlines()]
    for symbol in new:
        # in a table a bar has to be written as a name
        named = re.sub(r"\\\|(.+)\\\|", r"\\lVert\1\\rVert", symbol)
        assert any(f"${named}$" in row for row in rows), symbol


def test_glossary_is_in_order() -> None:
    text = prose(read(NOTATION))
    terms = re.findall(r"^- \*\*(.+?)\*\*: ", text.partition("## Glossary")[2], re.MULTILINE)
    assert len(terms) > 90
    assert [term.casefold() for term in terms] == sorted({term.casefold() for term in terms})


def test_routes_are_the_syllabus() -> None:
    text = prose(read(PATHS[0]))
    for route in ROUTES:
        assert re.search(rf"(?i){route.name}[^;.]* {route.hours} hours", text), route.name


def test_the_guide_prints_how_long_chapters_take() -> None:
    guide = (ROOT / "notebooks" / GUIDE).read_text(encoding="utf-8")
    assert f"<!-- times -->\n{times_table(ROOT / 'notebooks')}\n<!-- /times -->" in guide


def test_at_most_twenty_letters_of_unknown_licence_are_shown() -> None:
    every = (output for path in PATHS for output in outputs(read(path)))
    texts = "\n".join(output.get("data", {}).get("text/plain", "") for output in every)
    shown = sum(map(int, re.findall(r"(\d+) handwritten letters", texts)))
    assert 0 < shown <= 20


@pytest.fixture(scope="module")
def exercises() -> list[tuple[str, str, str]]:
    """Each exercise: the imports up to it, its cell, and its solution in the instructor edition."""
    found = []
    for name, content in edition_files("instructor").items():
        if not name.endswith(".ipynb"):
            continue
        cells = nbformat.reads(content.decode(), as_version=4).cells
        above: list[str] = []
        for number, cell in enumerate(cells):
            if cell.cell_type == "code":
                above += [ast.unparse(each) for each in imports(cell.source)]
            if "exercise" in cell.metadata.get("tags", []):
                hints, _, solution = cells[number + 1 : number + 4]
                assert "<details><summary>Hint" in hints.source
                found.append(("\n".join(above), cell.source, solution.source))
    return found


TYPED = [
    *("0", "-1e9", "'text'", "[1, 'a']", "0, 5", "(None, None)", "{'a': 1}", "float('nan')", "b''"),
    *("True", "1j", "object()", "[]", "[[1], [2, 3]]", "np.zeros((3, 3, 3))", "10**400", "'<b>'"),
]


def test_whatever_is_typed_into_an_exercise_is_answered_in_a_line(
    exercises: list[tuple[str, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Any exercise can be done first: it needs only what the cells above it import."""
    for above, cell, _ in exercises:
        here: dict[str, Any] = {"np": np}  # for what is typed
        exec(above, here)
        exec(cell, here)
        assert capsys.readouterr().out.startswith("Not yet: "), cell
        for typed in TYPED:
            exec(cell.replace("None", typed, 1), here)
            said = capsys.readouterr().out
            assert said.startswith("Not quite: "), (typed, cell)
            assert said.count("\n") == 1, (typed, cell)
            assert "stopped" not in said, (said, typed, cell)


def test_solutions_pass_their_checks(
    exercises: list[tuple[str, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for above, cell, solution in exercises:
        here: dict[str, Any] = {}
        exec(f"{above}\n{solution}", here)
        said = capsys.readouterr().out
        praise = CHECKS[re.findall(r"^(check_\w+)\(", cell, re.MULTILINE)[-1]].praise
        assert said == f"Right: {praise}\n", solution


@pytest.fixture(scope="module")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What nbval says of every cell of every notebook, by the notebook: nothing, or what failed.

    In a process of its own: nbval wants cells in order and in one process, which parallel tests do
    not grant.  The saved outputs of ocr-study are those of the real letters.
    """
    report = tmp_path_factory.mktemp("nbval") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(ROOT)]
    command += ["-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    command += ["--nbval-sanitize-with", str(ROOT / "tests" / "sanitize.cfg")]
    command += ["--nbval-cell-timeout=600", f"--junitxml={report}"]
    chosen = [path for path in PATHS if path.stem != OCR_STUDY or status().valid]
    environment = os.environ | {"TQDM_DISABLE": "1"}
    done = subprocess.run(
        [*command, *map(str, chosen)], capture_output=True, text=True, env=environment, check=False
    )
    assert report.exists(), done.stdout + done.stderr
    said: dict[str, list[str]] = {path.stem: [] for path in chosen}
    for cell in ElementTree.parse(report).iter("testcase"):
        stem = cell.get("classname", "").removeprefix("notebooks.").removesuffix(".ipynb")
        said[stem].append("".join(f"{cell.get('name')}: {part.text}" for part in cell))
    return said


@each_notebook
@pytest.mark.slow
def test_a_new_run_gives_the_saved_outputs(
    path: Path, new_run: dict[str, list[str]], request: pytest.FixtureRequest
) -> None:
    """In a new kernel; every text output is compared, strictly.

    Digits that depend on the processor must not be printed.  These make an old one of a new one:
    OPENBLAS_CORETYPE=Nehalem, NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL" (those that numpy
    has found), NUMBA_CPU_NAME=nehalem, NUMBA_CPU_FEATURES=+sse4.2 and a NUMBA_CACHE_DIR of its own.
    """
    if path.stem == OCR_STUDY:
        request.getfixturevalue("require_ocr")
    assert len(new_run[path.stem]) == len(code_cells(read(path)))
    wrong = [text for text in new_run[path.stem] if text]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_without_the_letters_digits_stand_in_under_a_banner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert status().path is None
    notebook = copy.deepcopy(read(ROOT / "notebooks" / f"{OCR_STUDY}.ipynb"))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    banner = outputs(notebook)[0].data
    assert banner["text/plain"].startswith("STAND-IN DATA.")
    assert 'role="alert"' in banner["text/html"]
    assert all(output.get("name") != "stderr" for output in outputs(notebook))
