"""The benchmark: its table is right about what was measured, and each task measures something."""

import functools
import json
import warnings

import pytest

from medn_edu.bench import accuracy
from medn_edu.bench import rows as bench
from medn_edu.bench import tasks as bench_tasks
from medn_edu.cli import main
from medn_edu.studies.kit.tables import read_csv

FOUND = {
    "crf": {
        "to_target": 2.0, "seconds": 3.0, "primal": 18068.0, "gap": 1e-4, "passes": 50,
        "megabytes": 300.0, "processor_seconds": 2.9,
    },
    "crf-l1": {
        "to_target": 4.0, "seconds": 9.0, "primal": 17214.0, "gap": 9e-3, "passes": 180,
        "megabytes": 310.0, "processor_seconds": 8.9,
    },
    "laplace": {
        "seconds": 31.0, "primal": 1000.0, "dual": 995.0, "gap": 5e-3, "passes": 20,
        "megabytes": 310.0, "processor_seconds": 30.0, "bound": None,
    },
    "laplace-variational": {
        "seconds": 8.0, "primal": 1014.9, "dual": 990.0, "gap": 0.0245, "passes": 3,
        "megabytes": 395.0, "processor_seconds": 7.9, "bound": 1100.0,
    },
    "laplace-1": {
        "seconds": 0.4, "primal": 90.0, "dual": 89.5, "gap": 9e-3, "passes": 80,
        "megabytes": 200.0, "processor_seconds": 0.4, "goes": 5,
    },
    "laplace-36": {"failure": "MemoryError"},
    "laplace-268": {
        "seconds": 0.6, "primal": 260.0, "dual": 259.0, "gap": 9e-3, "passes": 10,
        "megabytes": 500.0, "processor_seconds": 0.6, "goes": 5,
    },
    "m3n-1": {
        "seconds": 8.0, "primal": 15800.0, "gap": 9e-3, "passes": 100, "megabytes": 390.0,
        "processor_seconds": 7.9,
    },
    "m3n-0.1": {
        "seconds": 1.0, "primal": 3e3, "gap": 9e-3, "passes": 20, "megabytes": None,
        "processor_seconds": 0.9,
    },
    "viterbi": {"letters_per_second": 4e6},
    "marginals": {"failure": "MemoryError"},
    "import": {"seconds": 0.1, "loads": ["numba"]},
    "first-fit": {"seconds": 0.5},
    "crfsuite-train": {"to_target": 30.0, "primal": 18067.9, "passes": 300, "megabytes": 200.0},
    "crfsuite-l1": {"to_target": None, "primal": 17300.0, "passes": 500, "megabytes": 400.0},
    "crfsuite-viterbi": {"letters_per_second": 5e5},
    "hmmlearn-viterbi": {"missing": "hmmlearn"},
}  # fmt: skip


def lines(data="ocr"):
    return {(row.work, row.peer): row for row in bench.report(FOUND, data)}


def test_ratios_and_targets():
    rows = lines()
    crf = rows["L2-CRF, Σ NLL + ½‖w‖², to 1e-4 of 18067.45", "CRFsuite"]
    assert (crf.value, crf.peer_value, crf.ratio, crf.reached) == (2.0, 30.0, 15.0, True)
    assert rows["M3N, C = 1, 1 % gap", ""].reached is False
    assert rows["M3N, C = 0.1, 1 % gap", ""].reached is True
    viterbi = rows["Viterbi, X·W included", "CRFsuite"]
    assert (viterbi.value, viterbi.ratio, viterbi.reached) == (4.0, 8.0, True)
    peak = rows["peak memory of these trainings", "CRFsuite"]
    assert (peak.value, peak.peer_value, peak.reached) == (395.0, 400.0, True)
    assert rows["LapMEDN, C = 1, λ = 36, 1 % gap", ""].reached is False


def test_a_peer_that_does_not_arrive_gives_no_ratio():
    row = lines()["L1-CRF, Σ NLL + ‖w‖₁, to 17218", "CRFsuite"]
    assert (row.value, row.peer_value, row.ratio, row.reached) == (4.0, None, None, None)
    assert row.remark.endswith("; CRFsuite stopped at 17300.00")


def test_the_variational_solution_is_held_against_the_best_lower_bound():
    row = lines()["LapMEDN, C = 1, λ = 36, 3 variational iterations", ""]
    assert row.reached is True
    assert "bound 1100.00, primal 1014.90" in row.remark
    assert "at most 2.00% above" in row.remark, "1014.9 / 995, the dual value of the exact solution"
    alone = {"laplace-variational": FOUND["laplace-variational"]}
    remarks = [row.remark for row in bench.report(alone, "ocr") if "variational" in row.work]
    assert "at most 2.52% above" in remarks[0], "1014.9 / 990, its own"


def test_what_was_not_measured_is_neither_reached_nor_missed():
    rows = lines()
    hmm = rows["Viterbi, X·W included", "hmmlearn"]
    assert (hmm.ratio, hmm.peer_value) == (None, None)
    assert hmm.remark == "hmmlearn not installed: pip install 'medn_edu[bench]'"
    marginals = rows["node marginals, X·W included", "hmmlearn"]
    assert (marginals.value, marginals.reached) == (None, None)
    assert "failed: MemoryError" in marginals.remark
    cold = rows["everything compiled from cold", ""]
    assert (cold.value, cold.reached, cold.remark) == (None, None, "left out by --quick")


def test_a_heavy_import_misses_the_target_however_quick():
    row = lines()["import medn_edu", ""]
    assert row.reached is False
    assert row.remark == "loads numba"


def test_digit_words_have_no_targets_but_synthetic_sequences_have():
    rows = lines("digits").values()
    assert [(row.target, row.reached) for row in rows if "synthetic" in row.work] == [
        ("≤ 0.5 s", True), ("≤ 0.5 s", None), ("≤ 0.5 s", False),
    ]  # fmt: skip
    assert all(row.reached is None and not row.target for row in rows if "synth" not in row.work)


def test_repeated_measurements_say_so():
    row = lines()["LapMEDN, C = 1, λ = 1, 1 % gap, 150 synthetic sequences", ""]
    assert row.remark.endswith("best of 5 goes")


def test_compiling_says_what_the_processor_did():
    found = {"cold": {"seconds": 70.0, "processor_seconds": 42.0, "compiled": 84}}
    row = next(row for row in bench.report(found, "ocr") if "from cold" in row.work)
    assert (row.value, row.reached) == (70.0, False)
    assert row.remark == "84 variants of kernels, 42 s of processor time"


def test_quick_leaves_out_what_takes_long(monkeypatch):
    monkeypatch.setattr(bench, "run_task", lambda task, data, **environment: {"task": task})
    everything = bench.measure("ocr")
    left_out = set(everything) - set(bench.measure("ocr", quick=True))
    assert left_out == {"crfsuite-train", "crfsuite-l1", "cold"}
    assert set(everything) == {*bench_tasks.TASKS, "cold"}, "every task is called"


def test_machine_facts():
    facts = bench.machine_facts()
    assert list(facts) == ["processor", "load", "system", "versions"]
    assert all(facts.values())


def test_the_command_writes_its_table(tmp_path, capsys, monkeypatch):
    from medn_edu import datasets

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
    assert "processor" in page


def test_a_failing_task_is_one_line(monkeypatch):
    found = bench.run_task("no-such-task", "digits")
    assert found == {"failure": "KeyError: 'no-such-task'"}


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


@pytest.mark.slow
@pytest.mark.parametrize("task", ["viterbi", "marginals", "import", "first-fit"])
def test_tasks_on_digit_words(task):
    found = on_digit_words(task)
    assert "failure" not in found
    assert found.get("seconds", found.get("letters_per_second")) > 0
    if task == "import":
        assert found["loads"] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", [*bench.TRAININGS, "laplace-1", "laplace-36", "laplace-268"])
def test_trainings_on_digit_words(task):
    found = on_digit_words(task)
    assert "failure" not in found
    assert found["seconds"] > 0
    if task in APART:
        assert found["loaded"] == 0, "kernels are loaded before the clock starts"
    if "target" in found:
        assert found["primal"] <= found["target"]
        assert 0 < found["to_target"] <= found["seconds"]
    elif task == "laplace-variational":
        assert found["dual"] < found["primal"] < found["bound"]
    else:
        assert 0 <= found["gap"] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize("task", ["crfsuite-viterbi", "hmmlearn-viterbi", "hmmlearn-marginals"])
def test_peers_on_digit_words(task):
    pytest.importorskip("pycrfsuite" if task.startswith("crfsuite") else "hmmlearn")
    assert on_digit_words(task)["letters_per_second"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("own", "peer"), [("crf", "crfsuite-train"), ("crf-l1", "crfsuite-l1")])
def test_crfsuite_trains_the_same_model(own, peer):
    pytest.importorskip("pycrfsuite")
    ours, theirs = on_digit_words(own), on_digit_words(peer)
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
