"""Tables of results that somebody has changed: read as they are, or refused; never changed."""

import csv
import io
import re

from hypothesis import given
from hypothesis import strategies as st
from test_studies_runner import TOY

from medn_edu.studies.kit.results import ResultStore
from medn_edu.studies.kit.specs import TIMES
from medn_edu.studies.kit.tables import csv_text

COLUMNS = ("key", *TOY.row_columns, "failure", "settings", "version")
FILES = {
    "results.csv": COLUMNS,
    "timings.csv": ("key", *TIMES),
    "journal.csv": (*COLUMNS, *TIMES),
}


def make_row(fold: int, model: str, **others) -> dict:
    return {
        "key": f"toy/fold={fold}/{model}/C=1/seed=0", "data": "toy", "fold": fold, "model": model,
        "parameters": "C=1", "seed": 0, "n_train": 2, "n_test": 2, "error": 0.25, "train_error": 0,
        "primal": 0.5, "dual": 0.5, "relative_gap": 1e-9, "n_passes": 3, "n_weights": 8,
        "n_nonzero": 8, "n_large": 7, "n_support": 1.5, "status": 'the "gap", closed',
        "settings": "C=1 tol=0.001", "version": "0.1.0", "seconds": 1.5, "cpu_seconds": 1, **others,
    }  # fmt: skip


ROWS = [
    make_row(0, "M3N"),
    make_row(1, "M3N", chosen="C=1 lam=4"),
    make_row(0, "CRF", error=None, n_test=0),
    make_row(1, "CRF", failure="ValueError: é", n_train=None, n_test=None, train_error=None),
]
CELLS = st.sampled_from(
    ["abc", "nan", "1e400", "-5", "1.5", "", " ", "M4N", '"', '"a\nb"', "\0", "é", "x" * 200_000]
)
BYTES = st.sampled_from([b"", b",", b"\n", b"\r\n", b"\r", b'"', b"\0", b"\xff", b"7", b"e", b" "])


@st.composite
def damaged(draw, columns) -> bytes:
    """A table with some of its cells, lines or bytes changed."""
    lines = list(csv.reader(io.StringIO(csv_text(ROWS, columns))))
    for _ in range(draw(st.integers(0, 2))):
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["cell", "double", "drop", "column"])):
            case "cell" if lines[line]:
                lines[line][draw(st.integers(0, len(lines[line]) - 1))] = draw(CELLS)
            case "double":
                lines.insert(line, list(lines[line]))
            case "drop" if len(lines) > 1:
                del lines[line]
            case "column":
                place = draw(st.integers(0, len(columns) - 1))
                lines = [[*cells[:place], *cells[place + 1 :]] for cells in lines]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))).writerows(lines)
    content = buffer.getvalue().encode()
    for _ in range(draw(st.integers(0, 2))):
        place, length = draw(st.integers(0, len(content))), draw(st.integers(0, 3))
        content = content[:place] + draw(BYTES) + content[place + length :]
    return content


@given(data=st.data())
def test_a_table_is_read_as_it_is_or_refused(tmp_path_factory, data):
    name = data.draw(st.sampled_from(list(FILES)))
    columns, content = FILES[name], data.draw(damaged(FILES[name]))
    folder = tmp_path_factory.mktemp("results")
    if name == "timings.csv":  # times of fits that are no more are not kept
        (folder / "results.csv").write_text(csv_text(ROWS, COLUMNS), encoding="utf-8")
    (folder / name).write_bytes(content)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    try:
        store = ResultStore.open(folder, TOY)
    except ValueError as error:
        assert str(error).startswith(f"{folder / name} holds results that cannot be continued: ")
        assert re.search(r"\bline \d|can't decode byte|table is empty", str(error)), error
        assert "\n" not in str(error)
        assert len(str(error)) < 700
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
        return
    if name == "journal.csv":
        content = content[: content.rfind(b"\n") + 1]  # what comes after is of a killed run
    text = content.decode().replace("\r\n", "\n")
    expected = {cells[0]: cells for cells in list(csv.reader(io.StringIO(text)))[1:]}
    if name == "timings.csv":
        known = [row["key"] for row in ROWS]
        expected = {key: expected.get(key, [key, "", ""]) for key in known}
    assert store.rows.keys() == expected.keys()
    for key, cells in expected.items():
        [_, read] = csv.reader(io.StringIO(csv_text(store.rows[key], columns)))
        assert read == cells
    store.write()
    assert ResultStore.open(folder, TOY).rows == store.rows
