"""The benchmark: its table is right about what was measured, and each task measures something."""

import functools
import json
import re
import warnings

import pytest

from medn_edu import datasets
from medn_edu.bench import accuracy
from medn_edu.bench import rows as bench
from medn_edu.bench import tasks as bench_tasks
from medn_edu.cli import main
from medn_edu.studies.kit.tables import read_csv


def trained(seconds, **more):
    found = {"primal": 1000.0, "gap": 9e-3, "passes": 50, "megabytes": 300.0}
    return {**found, "seconds": seconds, "processor_seconds": 0.9 * seconds, **more}


FOUND = {
    "crf": trained(3.0, to_target=2.0),
    "crf-l1": trained(9.0, to_target=4.0),
    "laplace": trained(31.0, dual=995.0),
    "laplace-variational": trained(8.0, primal=1014.9, dual=990.0, bound=1100.0, megabytes=395.0),
    "laplace-1": trained(0.4, goes=5),
    "laplace-36": {"failure": "MemoryError"},
    "laplace-268": trained(0.6, goes=5),
    "m3n-1": trained(8.0),
    "m3n-0.1": trained(1.0, megabytes=None),
    "viterbi": {"letters_per_second": 4e6},
    "marginals": {"failure": "MemoryError"},
    "import": {"seconds": 0.1, "loads": ["numba"]},
    "crfsuite-train": {"to_target": 30.0, "primal": 18067.9, "passes": 300, "megabytes": 200.0},
    "crfsuite-l1": {"to_target": None, "primal": 17300.0, "passes": 500, "megabytes": 400.0},
    "crfsuite-viterbi": {"letters_per_second": 5e5},
    "hmmlearn-viterbi": {"missing": "hmmlearn"},
    "text-crf": trained(20.0, to_target=16.0),
    "text-crfsuite": {"to_target": 8.0, "primal": 5812.9, "passes": 200, "megabytes": 200.0},
    "text-crf-l1": trained(200.0, to_target=None),
    "text-m3n": trained(18.0),
    "wnut17-crf": {"no_data": "the WNUT17 sentences are not here."},
    "wnut17-crfsuite": {"no_data": "the WNUT17 sentences are not here."},
}
MADE_UP = "2,000 made-up sentences: "
VARIATIONAL = "LapMEDN, C = 1, λ = 36, 3 variational"


def row_of(work, peer="", found=FOUND):
    rows = bench.report(found, "ocr")
    return next(row for row in rows if row.work.startswith(work) and row.peer == peer)


def test_rows_tell_what_was_reached_and_what_was_not_measured():
    for work, peer, numbers, remark in (
        ("L2-CRF, Σ", "CRFsuite", (2.0, 30.0, 15.0, True), "s of processor time"),
        ("L1-CRF, Σ", "CRFsuite", (4.0, None, None, None), "; CRFsuite stopped at 17300.00"),
        ("M3N, C = 1,", "", (8.0, None, None, False), "7.2 s of processor time"),
        ("M3N, C = 0.1,", "", (1.0, None, None, True), ""),
        ("LapMEDN, C = 1, λ = 36, 1 %", "", (31.0, None, None, False), ""),
        ("LapMEDN, C = 1, λ = 1,", "", (0.4, None, None, True), ", best of 5 goes"),
        (VARIATIONAL, "", (8.0, None, None, True), "s of processor time"),
        ("Viterbi", "CRFsuite", (4.0, 0.5, 8.0, True), ""),
        ("Viterbi", "hmmlearn", (4.0, None, None, True), "pip install 'medn_edu[bench]'"),
        ("node marginals", "hmmlearn", (None,) * 4, "MemoryError; hmmlearn left out by --quick"),
        ("peak memory", "CRFsuite", (395.0, 400.0, None, True), "libraries included"),
        ("import", "", (0.1, None, None, False), "loads numba"),
        ("everything compiled from cold", "", (None,) * 4, "left out by --quick"),
        (f"{MADE_UP}L2", "CRFsuite", (16.0, 8.0, 0.5, None), "18 s of processor time"),
        (f"{MADE_UP}L1", "CRFsuite", (None,) * 4, "; CRFsuite left out by --quick"),
        (f"{MADE_UP}M3N", "", (18.0, None, None, None), "s of processor time"),
        ("WNUT17: L2", "CRFsuite", (None,) * 4, "the WNUT17 sentences are not here."),
        ("WNUT17: M3N", "", (None,) * 4, "left out by --quick"),
    ):
        row = row_of(work, peer)
        assert (row.value, row.peer_value, row.ratio, row.reached) == numbers, work
        assert row.remark.endswith(remark), work
    cold = {"seconds": 70, "processor_seconds": 42, "compiled": 84}
    row = row_of("everything", "", {"cold": cold})
    assert (row.reached, row.remark) == (False, "84 variants of kernels, 42 s of processor time")


def test_the_variational_solution_is_held_against_the_best_lower_bound():
    remark = row_of(VARIATIONAL).remark
    assert "bound 1100.00, primal 1014.90" in remark
    assert "at most 2.00% above" in remark, "1014.9 / 995, the dual value of the exact solution"
    alone = {"laplace-variational": FOUND["laplace-variational"]}
    assert "at most 2.52% above" in row_of(VARIATIONAL, "", alone).remark, "1014.9 / 990, its own"


def test_digit_words_have_no_targets_but_synthetic_sequences_have():
    rows = bench.report(FOUND, "digits")
    assert [(row.target, row.reached) for row in rows if "synthetic" in row.work] == [
        ("≤ 0.5 s", True), ("≤ 0.5 s", None), ("≤ 0.5 s", False),
    ]  # fmt: skip
    assert all(row.reached is None and not row.target for row in rows if "synth" not in row.work)


def test_quick_leaves_out_what_takes_long(monkeypatch):
    monkeypatch.setattr(bench, "run_task", lambda task, data, **environment: {"task": task})
    everything = bench.measure("ocr")
    left_out = set(everything) - set(bench.measure("ocr", quick=True))
    assert left_out == {
        "crfsuite-train", "crfsuite-l1", "cold", "text-crf-l1", "text-crfsuite-l1",
    }  # fmt: skip
    assert set(everything) == {*bench_tasks.TASKS, "cold"}, "every task is called"


def test_the_command_writes_its_table(tmp_path, capsys, monkeypatch):
    valid = datasets.DataStatus(tmp_path, "cache", 1, True, "")
    monkeypatch.setattr(datasets, "status", lambda: valid)
    monkeypatch.setattr(bench, "measure", lambda data, quick, progress: FOUND)
    assert main(["bench", "--out", str(tmp_path), "--quick"]) == 1, "a target was missed"
    text = capsys.readouterr().out
    assert "15.0x" in text
    rows = read_csv((tmp_path / "bench.csv").read_text(encoding="utf-8"))
    assert len(rows) == len(bench.report(FOUND, "ocr"))
    page = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "| L2-CRF, Σ NLL" in page
    for fact in ("processor", "load", "system", "versions"):
        assert re.search(rf"^- {fact}: \w", page, re.MULTILINE)


def test_a_failing_task_is_one_line():
    assert bench.run_task("no-such", "digits") == {"failure": "KeyError: 'no-such'"}


@pytest.mark.slow
def test_a_task_without_its_data_says_how_to_get_them(tmp_path):
    nowhere = {"MEDN_EDU_DATA": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    found = bench.run_task("wnut17-m3n", "few", **nowhere)
    [row] = [row for row in bench.report({"wnut17-m3n": found}, "ocr") if "WNUT17: M3N" in row.work]
    assert row.remark.startswith("the WNUT17 sentences are not at ")
    assert "medn-edu data fetch wnut17" in row.remark


# `medn-edu bench` runs every task in a process of its own.  Here one of each kind is, because a process
# takes seconds to load.
APART = (
    "import", "first-fit", "viterbi", "crf", "crf-l1", "m3n-1", "epsilon", "laplace-36",
    "laplace-variational",
)  # fmt: skip


@functools.cache
def on_digit_words(task):
    """What a task measures on a few of them; each runs once."""
    if task in APART:
        return bench.run_task(task, "few")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(bench_tasks.TASKS[task]("few")))


PEERS = ["crfsuite-viterbi", "hmmlearn-viterbi", "hmmlearn-marginals"]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["viterbi", "marginals", "import", "first-fit", *PEERS])
def test_tasks_on_digit_words(task):
    if task in PEERS:
        pytest.importorskip("pycrfsuite" if task.startswith("crfsuite") else "hmmlearn")
    found = on_digit_words(task)
    assert found.get("seconds", found.get("letters_per_second")) > 0, found
    if task == "import":
        assert found["loads"] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", [*bench.TRAININGS, "laplace-1", "laplace-36", "laplace-268"])
def test_trainings_on_digit_words(task):
    found = on_digit_words(task)
    assert found.get("seconds", 0) > 0, found
    if task in APART:
        assert found["loaded"] == 0, "kernels are loaded before the clock starts"
    if "target" in found:
        assert found["primal"] <= found["target"]
        assert 0 < found["to_target"] <= found["seconds"]
    elif task == "laplace-variational":
        assert found["dual"] < found["primal"] < found["bound"]
    else:
        assert 0 <= found["gap"] <= 0.01


PAIRS = [
    ("crf", "crfsuite-train"),
    ("crf-l1", "crfsuite-l1"),
    ("text-crf", "text-crfsuite"),
    ("text-crf-l1", "text-crfsuite-l1"),
    ("wnut17-crf", "wnut17-crfsuite"),
]


def skip_without_its_data(task, request):
    if task.startswith("wnut17"):
        request.getfixturevalue("require_wnut17")


@pytest.mark.slow
@pytest.mark.parametrize("data", ["text", "wnut17"])
def test_trainings_on_few_sentences(data, request):
    skip_without_its_data(data, request)
    assert 0 <= on_digit_words(f"{data}-m3n")["gap"] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("own", "peer"), PAIRS)
def test_crfsuite_trains_the_same_model(own, peer, request):
    pytest.importorskip("pycrfsuite")
    skip_without_its_data(own, request)
    ours, theirs = on_digit_words(own), on_digit_words(peer)
    assert ours["primal"] <= ours["target"]
    assert theirs["primal"] == pytest.approx(ours["primal"], rel=2e-4)
    assert theirs["to_target"] > 0


def test_accuracy_is_measured_against_the_optimum(tmp_path, capsys, monkeypatch):
    """Each row is an excess over the optimum; a solver that stops early misses its limit."""
    monkeypatch.setattr(accuracy, "SEEDS", range(1))
    monkeypatch.setattr(accuracy, "CONSTANTS", (1.0,))
    monkeypatch.setattr(accuracy, "M3N_SOLVERS", ("block_frank_wolfe", "subgradient"))
    monkeypatch.setattr(accuracy, "PASSES", 30)
    assert main(["bench", "--accuracy", "--out", str(tmp_path)]) == 1
    rows = {row["work"]: row for row in read_csv((tmp_path / "accuracy.csv").read_text("utf-8"))}
    ways = ("λ-path", "cutting plane", "EM", "projected sub-gradient")
    assert all(rows[f"L1-M3N by {way}"]["reached"] is True for way in ways)
    assert rows["M3N by block_frank_wolfe"]["reached"] is True
    early = rows["M3N by subgradient"]
    assert early["reached"] is False
    assert early["value"] > 0.01
    assert "M3N by subgradient" in capsys.readouterr().out
    assert "medn-edu bench --accuracy" in (tmp_path / "accuracy.md").read_text("utf-8")
