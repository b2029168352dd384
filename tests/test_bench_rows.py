"""The benchmark: its table is right about what was measured, and each task measures something."""

import functools
import itertools
import json
import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from medn_edu import datasets
from medn_edu.bench import accuracy
from medn_edu.bench import rows as bench
from medn_edu.bench import tasks as bench_tasks
from medn_edu.bench.objective import crf_objective
from medn_edu.cli import main
from medn_edu.studies.kit.tables import read_csv


def trained(seconds, **more):
    found = {"primal": 1000.0, "gap": 9e-3, "passes": 50, "megabytes": 300.0}
    return {**found, "seconds": seconds, "processor_seconds": 0.9 * seconds, **more}


def on_text(*path, **more):
    """What is measured of a CRF on text: processor seconds and objective of each pass."""
    last = path[-1][1]
    return {"path": path, "primal": last, "gap": 1e-6, "passes": 9, "evaluated": last, **more}


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
    "text-2000-l2": on_text((1.0, 5900.0), (2.0, 5000.4), (4.0, 5000.0)),
    "text-2000-l2-crfsuite": on_text((3.0, 5000.6), (9.0, 5000.5), (12.0, 5000.45)),
    "text-2000-l1": on_text((1.0, 8600.0), (2.0, 8500.0)),
    "text-2000-l1-crfsuite": on_text((4.0, 8500.1), (8.0, 8400.0)),
    "text-2000-m3n": trained(18.0),
    "text-12000-l2": on_text((5.0, 17000.0)),
    "text-12000-l2-crfsuite": on_text((50.0, 17000.5), megabytes=300.0),
    "text-12000-memory": trained(7.0, megabytes=460.0),
    "wnut17-l2": {"no_data": "the WNUT17 sentences are not here."},
    "wnut17-l2-crfsuite": {"no_data": "the WNUT17 sentences are not here."},
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
        ("peak memory of", "CRFsuite", (395.0, 400.0, None, True), "libraries included"),
        ("import", "", (0.1, None, None, False), "loads numba"),
        ("everything compiled from cold", "", (None,) * 4, "left out by --quick"),
        (f"{MADE_UP}L2", "CRFsuite", (2.0, 9.0, 4.5, True), "; CRFsuite evaluated anew 5000.45"),
        (f"{MADE_UP}L1", "CRFsuite", (None, 8.0, None, None), "CRFsuite evaluated anew 8400.00"),
        ("12,000 made-up sentences: L1", "CRFsuite", (None,) * 4, "left out by --quick"),
        ("peak memory, 12,000", "CRFsuite", (460.0, 300.0, None, False), "libraries included"),
        (f"{MADE_UP}M3N", "", (18.0, None, None, None), "s of processor time"),
        ("WNUT17: L2", "CRFsuite", (None,) * 4, "the WNUT17 sentences are not here."),
        ("WNUT17: M3N", "", (None,) * 4, "left out by --quick"),
    ):
        row = row_of(work, peer)
        assert (row.value, row.peer_value, row.ratio, row.reached) == numbers, work
        assert row.remark.endswith(remark), work
    assert (
        "evaluated anew 8500.00, best known 8400.00; " in row_of(f"{MADE_UP}L1", "CRFsuite").remark
    )
    cold = {"seconds": 70, "processor_seconds": 42, "compiled": 84}
    row = row_of("everything", "", {"cold": cold})
    assert (row.reached, row.remark) == (False, "84 variants of kernels, 42 s of processor time")


def test_the_variational_solution_is_held_against_the_best_lower_bound():
    remark = row_of(VARIATIONAL).remark
    assert "bound 1100.00, primal 1014.90" in remark
    assert "at most 2.00% above" in remark, "1014.9 / 995, the dual value of the exact solution"
    alone = {"laplace-variational": FOUND["laplace-variational"]}
    assert "at most 2.52% above" in row_of(VARIATIONAL, "", alone).remark, "1014.9 / 990, its own"


def test_digit_words_have_no_targets_but_synthetic_sequences_and_text_have():
    rows = bench.report(FOUND, "digits")
    assert [(row.target, row.reached) for row in rows if "synthetic" in row.work] == [
        ("≤ 0.5 s", True), ("≤ 0.5 s", None), ("≤ 0.5 s", False),
    ]  # fmt: skip
    elsewhere = [row for row in rows if not re.search("synth|grids|sentences|WNUT17", row.work)]
    assert all(row.reached is None and not row.target for row in elsewhere)


def test_quick_leaves_out_what_takes_long(monkeypatch):
    monkeypatch.setattr(bench, "run_task", lambda task, data, seed=0, **environment: seed)
    everything, quick = (bench.measure("ocr", seed=7, quick=quick) for quick in (False, True))
    left_out = set(everything) - set(quick)
    assert {task for task in left_out if not task.startswith("text-12000-")} == {
        "crfsuite-train", "crfsuite-l1", "cold",
        "text-2000-l1", "text-2000-l1-crfsuite", "wnut17-l1", "wnut17-l1-crfsuite",
    }  # fmt: skip
    on_text = {task for task in bench_tasks.TEXT_TASKS if not task.endswith("memory")}
    assert set(everything) == {*bench_tasks.TASKS, *on_text, "text-12000-memory", "cold"}
    assert everything["text-2000-l2"] == 7


def test_the_command_writes_its_table(tmp_path, capsys, monkeypatch):
    valid = datasets.DataStatus(tmp_path, "cache", 1, True, "")
    monkeypatch.setattr(datasets, "status", lambda: valid)
    seeds = []
    monkeypatch.setattr(bench, "measure", lambda *_, seed, **__: seeds.append(seed) or FOUND)
    assert main(["bench", "--out", str(tmp_path), "--quick", "--seed", "7"]) == 1, "a missed target"
    assert "seed       7," in capsys.readouterr().out
    assert main(["bench", "--out", str(tmp_path), "--quick"]) == 1
    text = capsys.readouterr().out
    assert seeds[0] == 7
    assert re.search(rf"^seed +{seeds[1]}, for the generated", text, re.MULTILINE), (
        "a drawn one is named"
    )
    assert "15.0x" in text
    rows = read_csv((tmp_path / "bench.csv").read_text(encoding="utf-8"))
    assert len(rows) == len(bench.report(FOUND, "ocr"))
    page = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "| L2-CRF, Σ NLL" in page
    for fact in ("processor", "load", "system", "versions", "seed"):
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
        if task in bench_tasks.TEXT_TASKS:
            return json.loads(json.dumps(bench_tasks.TEXT_TASKS[task]("few", 7)))
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


def skip_without_its_data(task, request):
    if task.startswith("wnut17"):
        request.getfixturevalue("require_wnut17")


@pytest.mark.slow
@pytest.mark.parametrize("data", ["text-2000", "wnut17"])
def test_trainings_on_few_sentences(data, request):
    skip_without_its_data(data, request)
    assert 0 <= on_digit_words(f"{data}-m3n")["gap"] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("own", "peer"), [("crf", "crfsuite-train"), ("crf-l1", "crfsuite-l1")])
def test_crfsuite_trains_the_same_model(own, peer):
    pytest.importorskip("pycrfsuite")
    ours, theirs = on_digit_words(own), on_digit_words(peer)
    assert ours["primal"] <= ours["target"]
    assert theirs["primal"] == pytest.approx(ours["primal"], rel=2e-4)
    assert theirs["to_target"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("task", ["text-2000-l2", "text-2000-l1", "wnut17-l2"])
def test_both_objectives_on_text_are_evaluated_anew(task, request):
    """The evaluator reads both libraries' weights and finds what they say of themselves."""
    pytest.importorskip("pycrfsuite")
    skip_without_its_data(task, request)
    found = {name: on_digit_words(name) for name in (task, f"{task}-crfsuite")}
    for measured in found.values():
        assert measured["evaluated"] == pytest.approx(measured["primal"], rel=1e-6)
        assert measured["path"][-1][1] == measured["primal"]
        seconds = [moment for moment, _ in measured["path"]]
        assert seconds == sorted(seconds)
    rows = bench.report(found, "digits")
    [row] = [row for row in rows if row.value is not None]
    assert 0 < row.value <= found[task]["path"][-1][0]
    assert row.ratio > 0, "both come within 1e-4 of the best"


@pytest.mark.slow
def test_memory_is_that_of_a_process_that_reads_one_sentence_at_a_time():
    found = on_digit_words("text-12000-memory")
    assert found["gap"] <= 1e-4
    assert found["megabytes"] is None or 50 < found["megabytes"] < 400


def test_the_evaluator_agrees_with_enumeration():
    rng = np.random.default_rng(0)
    X, coef, transitions = (
        rng.normal(size=(7, 4)),
        *map(rng.normal, (0, 0), (1, 1), ((3, 4), (3, 3))),
    )
    lengths, codes = np.array([2, 1, 4]), rng.integers(3, size=7)

    def score(start, labels):
        nodes = sum(X[start + t] @ coef[label] for t, label in enumerate(labels))
        return nodes + sum(transitions[a, b] for a, b in itertools.pairwise(labels))

    expected = 0.5 * (np.abs(coef).sum() + np.abs(transitions).sum())
    expected += ((coef**2).sum() + (transitions**2).sum()) / 2 * 0.3
    for start, length in zip((0, 2, 3), lengths, strict=True):
        every = itertools.product(range(3), repeat=length)
        log_partition = np.log(sum(np.exp(score(start, labels)) for labels in every))
        expected += log_partition - score(start, codes[start : start + length])
    found = crf_objective(csr_matrix(X), lengths, codes, coef, transitions, l1=0.5, l2=0.3)
    assert found == pytest.approx(expected, rel=1e-12)


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
