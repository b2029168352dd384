"""The runner: every fit once, kept at once, the same tables however it was run."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from children import child
from threadpoolctl import threadpool_info, threadpool_limits

from medn_edu.estimators import M3N
from medn_edu.studies.kit import results, runner
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.results import RESULT_COLUMNS, ResultStore
from medn_edu.studies.kit.runner import evaluate, run_study, write_report
from medn_edu.studies.kit.selection import Selected, read_constants
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study

X = [np.eye(2), np.eye(2)[::-1]]
Y = [["a", "b"], ["b", "a"]]
SPECS = [
    FitSpec("toy", fold, model, (("C", C),), seed=0)
    for fold in range(2)
    for model in ("M3N", "per letter")
    for C in (0.5, 10.0)
]


def toy_split(spec: FitSpec) -> Split:
    """Two words, in an order that depends on the fold."""
    return Split(X[:: 1 - 2 * spec.fold], Y[:: 1 - 2 * spec.fold], X, Y)


TOY = Study("toy", "a toy", lambda scale, seed: SPECS, toy_split, lambda rows, path: None)


def tables(folder: Path) -> bytes:
    return (folder / "results.csv").read_bytes()


def test_every_fit_is_a_row_sorted_by_key(tmp_path):
    rows = run_study(TOY, SPECS[::-1], ResultStore.open(tmp_path))
    assert [row["key"] for row in rows] == sorted(spec.key for spec in SPECS)
    assert all(row["error"] == 0 and not row["failure"] for row in rows)
    assert tables(tmp_path).count(b"\n") == len(SPECS) + 1
    assert "seconds" not in tables(tmp_path).decode(), "times stand in a file of their own"
    assert {path.name for path in tmp_path.iterdir()} == {"results.csv", "timings.csv"}


OWN = replace(
    TOY,
    models={"twice": Model("twice", lambda C: M3N(2 * C, verbose=0), "M3N with twice the C")},
    measured=("largest",),
    measure=lambda spec, model: {"largest": float(np.abs(model.weights_).max()) + spec.fold},
)
OWN_SPECS = [FitSpec("toy", fold, "twice", (("C", 0.25),)) for fold in range(2)]


def test_a_study_has_models_and_columns_of_its_own(tmp_path):
    store = ResultStore.open(tmp_path, OWN)
    rows = run_study(OWN, OWN_SPECS, store)
    expected = np.abs(M3N(0.5, verbose=0).fit(X, Y).weights_).max()
    assert [row["largest"] - row["fold"] for row in rows] == pytest.approx([expected] * 2, rel=0.02)
    assert "C=0.5 " in rows[0]["settings"]
    header = tables(tmp_path).decode().partition("\n")[0]
    assert header == ",".join([*RESULT_COLUMNS, "largest"])
    again = ResultStore.open(tmp_path, OWN)
    assert all(again.is_done(spec) for spec in OWN_SPECS)
    written = tables(tmp_path)
    run_study(OWN, OWN_SPECS, again)
    assert tables(tmp_path) == written
    with pytest.raises(ValueError, match="cannot be continued"):
        ResultStore.open(tmp_path)


def test_a_store_must_know_a_study_with_columns_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="does not know toy"):
        run_study(OWN, OWN_SPECS, ResultStore.open(tmp_path))


def test_times_by_the_clock_and_by_the_processor(tmp_path):
    def slow(spec, model):
        time.sleep(0.05)
        return {"largest": 0.0}

    class Sleeper(M3N):
        def fit(self, X, y):
            time.sleep(0.2)
            return super().fit(X, y)

    models = {"twice": Model("twice", lambda C: Sleeper(C, verbose=0), "")}
    study = replace(OWN, models=models, measure=slow)
    M3N(verbose=0).fit(X, Y)  # kernels are loaded
    store = ResultStore.open(tmp_path, study)
    [row] = store.timed(run_study(study, OWN_SPECS[:1], store))
    assert row["seconds"] >= 0.2 > row["cpu_seconds"] >= 0
    again = ResultStore.open(tmp_path, study)
    assert again.timed([{"key": row["key"]}])[0]["cpu_seconds"] == row["cpu_seconds"]
    assert again.timed([{"key": "other"}])[0]["seconds"] is None


def test_times_with_other_columns_are_refused(tmp_path):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    lines = (tmp_path / "timings.csv").read_text(encoding="utf-8").splitlines()
    other = "".join(line.rpartition(",")[0] + "\n" for line in lines)
    (tmp_path / "timings.csv").write_text(other, encoding="utf-8")
    with pytest.raises(ValueError, match=r"timings\.csv holds results that cannot be continued"):
        ResultStore.open(tmp_path)


def test_a_report_is_saved_with_the_command_that_made_it(tmp_path):
    def report(rows, scale):
        return Report(
            ("model", "n"), [{"model": "M3N", "n": len(rows)}], "text", f"Caption, {scale}."
        )

    write_report(replace(TOY, report=report), [{}, {}], tmp_path, "paper")
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == "model,n\nM3N,2\n"
    caption = (tmp_path / "caption.md").read_text(encoding="utf-8")
    assert caption.startswith("Caption, paper.\nMade by `medn-edu reproduce toy --scale paper`")


def test_keys_tell_all_fits_apart():
    assert len({spec.key for spec in SPECS}) == len(SPECS)


def test_workers_do_not_change_the_table(tmp_path):
    for n_jobs in (1, 2):
        run_study(TOY, SPECS, ResultStore.open(tmp_path / str(n_jobs)), n_jobs=n_jobs)
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


def summing_report(rows, scale):
    """A mean whose last digits would show any difference of the rows."""
    table = [
        {"model": name, "mean": float(np.mean([row["largest"] / 3 for row in found]))}
        for name in ("M3N", "per letter")
        if (found := [row for row in rows if row["model"] == name])
    ]
    return Report(("model", "mean"), table, "", "A caption.")


def test_workers_do_not_change_the_report(tmp_path):
    study = replace(TOY, measured=OWN.measured, measure=OWN.measure, report=summing_report)
    for n_jobs in (1, 2):
        store = ResultStore.open(tmp_path / str(n_jobs), study)
        rows = run_study(study, SPECS, store, n_jobs=n_jobs)
        write_report(study, store.timed(rows), store.folder, "quick")
    one, two = ((tmp_path / n_jobs / "table.csv").read_bytes() for n_jobs in "12")
    assert one == two
    assert one.count(b"\n") == 3


def test_everything_is_computed_with_one_thread(tmp_path):
    """As in a worker, where linear algebra has no more: data, training, errors, measures."""
    seen = {}

    def note(what):
        seen[what] = max(library["num_threads"] for library in threadpool_info())

    class Watched(M3N):
        def fit(self, X, y):
            note("fit")
            return super().fit(X, y)

        def predict(self, X):
            note("predict")
            return super().predict(X)

    def split(spec):
        note("split")
        return toy_split(spec)

    def measure(spec, model):
        note("measure")
        return {"largest": 0.0}

    models = {"twice": Model("twice", lambda C: Watched(C, verbose=0), "")}
    study = replace(OWN, split=split, models=models, measure=measure)
    with threadpool_limits(2):
        note("outside")
        runner.read_data(study, OWN_SPECS[0])
        assert seen["split"] == 1
        [row] = run_study(study, OWN_SPECS[:1], ResultStore.open(tmp_path, study))
    assert not row["failure"]
    assert seen == {"outside": 2, "split": 1, "fit": 1, "predict": 1, "measure": 1}


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    run_study(TOY, SPECS[:3], ResultStore.open(tmp_path))
    made = []

    def evaluate(spec, *rest):
        made.append(spec)
        return original(spec, *rest)

    original = runner.evaluate
    monkeypatch.setattr(runner, "evaluate", evaluate)
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    assert made == SPECS[3:]
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    assert len(made) == len(SPECS) - 3
    run_study(TOY, SPECS, ResultStore.open(tmp_path, force=True))
    assert made[-len(SPECS) :] == SPECS


def test_a_resumed_table_is_that_of_one_run(tmp_path):
    run_study(TOY, SPECS[::2], ResultStore.open(tmp_path / "twice"))
    run_study(TOY, SPECS, ResultStore.open(tmp_path / "twice"))
    run_study(TOY, SPECS, ResultStore.open(tmp_path / "once"))
    assert tables(tmp_path / "twice") == tables(tmp_path / "once")


def test_rows_of_other_fits_are_kept_but_not_reported(tmp_path):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    before = tables(tmp_path)
    rows = run_study(TOY, SPECS[:2], ResultStore.open(tmp_path))
    assert [row["key"] for row in rows] == sorted(spec.key for spec in SPECS[:2])
    assert tables(tmp_path) == before
    other_seed = [replace(spec, seed=1) for spec in SPECS[:2]]
    rows = run_study(TOY, other_seed, ResultStore.open(tmp_path))
    assert [row["seed"] for row in rows] == [1, 1]
    assert tables(tmp_path).count(b"\n") == 1 + len(SPECS) + 2


def test_a_study_whose_splits_or_measures_have_changed(tmp_path):
    run_study(OWN, OWN_SPECS, ResultStore.open(tmp_path, OWN))
    first = tables(tmp_path)
    again = replace(OWN, revision=2)
    with pytest.raises(ValueError, match="does not know toy"):
        run_study(replace(TOY, revision=2), SPECS, ResultStore.open(tmp_path / "unknown"))
    store = ResultStore.open(tmp_path, again)
    assert not any(store.is_done(spec) for spec in OWN_SPECS)
    rows = run_study(again, OWN_SPECS, store)
    assert all(row["settings"].endswith(" revision=2") for row in rows)
    assert all(ResultStore.open(tmp_path, again).is_done(spec) for spec in OWN_SPECS)
    assert tables(tmp_path).replace(b" revision=2", b"") == first, "1 is not written"


def test_some_fits_are_forgotten(tmp_path):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    before = tables(tmp_path)
    store = ResultStore.open(tmp_path)
    store.forget([SPECS[0].key, SPECS[1].key, "unknown"])
    again = ResultStore.open(tmp_path)
    assert [spec for spec in SPECS if not again.is_done(spec)] == SPECS[:2]
    assert set(again.seconds) == {spec.key for spec in SPECS[2:]}
    run_study(TOY, SPECS, again)
    assert tables(tmp_path) == before


@pytest.mark.parametrize("change", ["version", "settings"])
def test_what_another_version_or_model_made_is_made_again(tmp_path, monkeypatch, change):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    if change == "version":
        monkeypatch.setattr(results, "__version__", "99.0")
        stale = SPECS
    else:
        finer = replace(MODELS["M3N"], build=lambda **parameters: M3N(tol=1e-3, **parameters))
        monkeypatch.setitem(MODELS, "M3N", finer)
        stale = [spec for spec in SPECS if spec.model == "M3N"]
    store = ResultStore.open(tmp_path)
    assert [spec for spec in SPECS if not store.is_done(spec)] == stale
    rows = run_study(TOY, SPECS, store)
    made = {"version": "99.0", "settings": "tol=0.001"}[change]
    assert sum(made in str(row[change]) for row in rows) == len(stale)
    assert len(rows) == len(store.rows) == len(SPECS), "new rows take the place of old ones"
    assert all(ResultStore.open(tmp_path).is_done(spec) for spec in SPECS)


def test_one_worker_starts_with_the_short_fits(tmp_path, monkeypatch):
    begun = []

    def evaluate(spec, *rest):
        begun.append(spec)
        return original(spec, *rest)

    original = runner.evaluate
    monkeypatch.setattr(runner, "evaluate", evaluate)
    run_study(TOY, SPECS, ResultStore.open(tmp_path), n_jobs=1)
    assert begun == SPECS


def test_a_failed_fit_is_a_row_and_is_tried_again(tmp_path):
    broken = FitSpec("toy", 0, "M3N", (("C", -1.0),))
    store = ResultStore.open(tmp_path)
    rows = run_study(TOY, [*SPECS, broken], store)
    [row] = [row for row in rows if row["failure"]]
    assert row["key"] == broken.key
    assert re.fullmatch(
        r"ValueError: C is -1.* \(medn_edu/[a-z_0-9/]+\.py:\d+\)", row["failure"]
    ), "the place in this package, without the machine's folders"
    assert "runner.py" not in row["failure"], "innermost"
    assert len(rows) == len(SPECS) + 1
    again = ResultStore.open(tmp_path)
    assert not again.is_done(broken)
    assert all(again.is_done(spec) for spec in SPECS)


def test_an_unknown_model_is_a_failed_fit(tmp_path):
    [row] = run_study(TOY, [FitSpec("toy", 0, "M4N")], ResultStore.open(tmp_path))
    assert "expected one of" in row["failure"]


def test_missing_data_end_the_study_before_it_begins(tmp_path):
    def split(spec):
        raise OSError("no data")

    study = Study("toy", "", lambda scale, seed: SPECS, split, lambda rows, path: None)
    with pytest.raises(OSError, match="no data"):
        run_study(study, SPECS, ResultStore.open(tmp_path))
    assert not (tmp_path / "results.csv").exists()


@pytest.mark.parametrize("damage", ["", "key,other\n1,2\n", "key", "\ufeff\x00"])
def test_damaged_results_are_named_and_kept(tmp_path, damage):
    (tmp_path / "results.csv").write_text(damage, encoding="utf-8")
    with pytest.raises(ValueError, match=r"results.csv holds results that cannot be continued.*"):
        ResultStore.open(tmp_path)
    assert (tmp_path / "results.csv").read_text(encoding="utf-8") == damage
    ResultStore.open(tmp_path, force=True)


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("error", "abc", "'abc'; expected a number from 0 to 1"),
        ("error", "nan", "'nan'; expected a number from 0 to 1"),
        ("error", "1e400", "'1e400'; expected a number from 0 to 1"),
        ("error", "-5", "-5; expected a number from 0 to 1"),
        ("error", "", "empty; expected a number, as this fit did not fail"),
        ("chosen", "C", "'C'; expected constants such as C=1"),
        ("chosen", "5", "5; expected constants such as C=1"),
    ],
)
def test_a_damaged_cell_is_named(tmp_path, column, cell, said):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    header, line, *others = tables(tmp_path).decode().splitlines()
    cells = line.split(",")
    cells[RESULT_COLUMNS.index(column)] = cell
    damage = "\n".join([header, ",".join(cells), *others, ""])
    (tmp_path / "results.csv").write_text(damage)
    with pytest.raises(ValueError, match=re.escape(f"line 2, column {column}, is {said}")):
        ResultStore.open(tmp_path)
    assert tables(tmp_path).decode() == damage


def test_a_doubled_row_is_named(tmp_path):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    lines = tables(tmp_path).decode().splitlines(keepends=True)
    (tmp_path / "results.csv").write_text("".join([*lines, lines[1]]))
    with pytest.raises(ValueError, match=r"line 10, column key, is .* that no other line has"):
        ResultStore.open(tmp_path)


def test_an_unknown_model_is_named(tmp_path):
    """Also where the key is in line with it."""
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    damage = tables(tmp_path).decode().replace("M3N", "M4N")
    (tmp_path / "results.csv").write_text(damage)
    with pytest.raises(
        ValueError, match=r"line \d, column model, is 'M4N'; expected a model of this"
    ):
        ResultStore.open(tmp_path)
    assert tables(tmp_path).decode() == damage


def test_results_cut_in_the_middle_of_a_line(tmp_path):
    run_study(TOY, SPECS, ResultStore.open(tmp_path))
    (tmp_path / "results.csv").write_bytes(tables(tmp_path)[:-20])
    with pytest.raises(ValueError, match="--force"):
        ResultStore.open(tmp_path)


def test_leftovers_of_a_killed_run_are_removed(tmp_path):
    (tmp_path / ".medn_edu-abc").write_text("half a ta", encoding="utf-8")
    ResultStore.open(tmp_path)
    assert not list(tmp_path.iterdir())


def test_progress_counts_what_was_done_before(tmp_path):
    run_study(TOY, SPECS[:3], ResultStore.open(tmp_path))
    seen = []
    run_study(TOY, SPECS, ResultStore.open(tmp_path), progress=lambda *counts: seen.append(counts))
    assert seen == [(done, len(SPECS)) for done in range(3, len(SPECS) + 1)]


def test_finished_fits_wait_in_the_journal_for_the_next_writing(tmp_path, monkeypatch):
    store = ResultStore.open(tmp_path)
    run_study(TOY, SPECS[:2], store)
    before = tables(tmp_path)
    assert store._next_write > time.monotonic(), "writing must not take more than a share of time"
    monkeypatch.setattr(store, "_next_write", float("inf"))
    store.add(evaluate(SPECS[2], TOY)[0], 1.23456, 1.0)
    store.add(evaluate(SPECS[3], TOY)[0], 2.0, 1.5)
    assert tables(tmp_path) == before
    lines = store.journal_file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    store.journal_file.write_bytes(b"".join(lines)[:-7])  # the process was killed while writing
    again = ResultStore.open(tmp_path)
    assert [again.is_done(spec) for spec in SPECS[:4]] == [True, True, True, False]
    assert again.seconds[SPECS[2].key] == 1.235
    assert not again.journal_file.exists()
    assert tables(tmp_path).count(b"\n") == 4
    for torn in (b"", lines[0][:5]):
        again.journal_file.write_bytes(torn)
        assert len(ResultStore.open(tmp_path).rows) == 3
    again.journal_file.write_bytes(b"other,columns\n")
    with pytest.raises(ValueError, match=r"journal\.csv holds results that cannot be continued"):
        ResultStore.open(tmp_path)
    assert not ResultStore.open(tmp_path, force=True).rows
    assert not list(tmp_path.iterdir())


def test_rows_are_those_that_a_resumed_run_would_read(tmp_path):
    """So what is computed from them, a mean over folds say, is the same to the last digit."""
    rows = run_study(TOY, SPECS, ResultStore.open(tmp_path))
    assert rows == run_study(TOY, SPECS, ResultStore.open(tmp_path))


SLOW_RUN = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_experiments_runner import SPECS, TOY, toy_split
from medn_edu.studies.kit.runner import ResultStore, run_study
from medn_edu.studies.kit import results
from medn_edu.studies.kit.specs import Study

results._SHARE_OF_WRITING = 1e-9  # the first table is written, what follows is in the journal

def split(spec):
    (Path({folder!r}) / f"pid-{{os.getpid()}}").touch()
    time.sleep(0.2)
    return toy_split(spec)

study = Study("toy", "", TOY.specs, split, TOY.draw)
run_study(study, SPECS, ResultStore.open(Path({folder!r})), n_jobs={n_jobs})
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_run_resumes_to_identical_tables(tmp_path, n_jobs):
    folder = tmp_path / "killed"
    code = textwrap.dedent(SLOW_RUN).format(
        tests=str(Path(__file__).parent), folder=str(folder), n_jobs=n_jobs
    )
    with child([sys.executable, "-c", code]) as process:
        wait_until((folder / "journal.csv").exists, 100)
        process.kill()
        process.wait()
        workers = [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]
        wait_until(lambda: not any(map(is_running, workers)), 10)
    n_before = tables(folder).count(b"\n") - 1
    assert 0 < n_before < len(SPECS), "killed in the middle"
    # One, or the main process and two workers, of which one may not have begun.
    assert len(workers) in ([1] if n_jobs == 1 else [2, 3])
    run_study(TOY, SPECS, ResultStore.open(folder))
    run_study(TOY, SPECS, ResultStore.open(tmp_path / "whole"))
    assert tables(folder) == tables(tmp_path / "whole")


def wait_until(is_so, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fit_that_breaks_its_process_is_a_failed_fit(tmp_path):
    """Others that were under way at that time are made all the same."""
    parent = os.getpid()

    def split(spec):
        if os.getpid() != parent and spec == SPECS[4]:
            os._exit(1)
        return toy_split(spec)

    study = replace(TOY, split=split)
    rows = run_study(study, SPECS, ResultStore.open(tmp_path / "broken"), n_jobs=2)
    [failed] = [row for row in rows if row["failure"]]
    assert failed["key"] == SPECS[4].key
    assert "WorkerError: its process ended" in failed["failure"]
    run_study(TOY, SPECS, ResultStore.open(tmp_path / "broken"))
    run_study(TOY, SPECS, ResultStore.open(tmp_path / "whole"))
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")


# Six words to choose a constant on, of which the strongest, 0.01, leaves the labels to chance.
MANY = Split(X * 3, Y * 3, X, Y)
CHOOSING = replace(
    TOY,
    split=lambda spec: MANY,
    models={
        **MODELS,
        "chosen M3N": Model(
            "chosen M3N",
            lambda **fixed: Selected("M3N", (("C", (1e-9, 0.5)),), n_folds=2, **fixed),
            "",
        ),
    },
)
CHOICE = FitSpec("toy", 0, "chosen M3N")
LATER = [FitSpec("toy", fold, "M3N", after=CHOICE.key) for fold in range(2)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_constants_that_another_fit_has_chosen(tmp_path, n_jobs):
    rows = run_study(
        CHOOSING, [*LATER, CHOICE], ResultStore.open(tmp_path, CHOOSING), n_jobs=n_jobs
    )
    by_key = {row["key"]: row for row in rows}
    chosen = by_key[CHOICE.key]["chosen"]
    assert chosen in ("C=1e-09", "C=0.5")
    for spec in LATER:
        assert by_key[spec.key]["parameters"] == chosen
        assert f"C={read_constants(chosen)[0][1]} " in by_key[spec.key]["settings"]
    again = ResultStore.open(tmp_path, CHOOSING)
    assert all(again.is_done(spec) for spec in LATER)
    again.rows[CHOICE.key]["chosen"] = "C=7"
    assert not any(again.is_done(spec) for spec in LATER), "another choice, another fit"


def test_a_choice_that_failed_fails_what_waits_for_it(tmp_path):
    few = replace(CHOOSING, split=lambda spec: Split(X[:1], Y[:1], X, Y))
    rows = run_study(few, [CHOICE, *LATER], ResultStore.open(tmp_path, few))
    failures = {row["key"]: row["failure"] for row in rows}
    assert "n_folds is 2" in failures[CHOICE.key]
    assert all(f"no constants were chosen by {CHOICE.key}" in failures[s.key] for s in LATER)
    run_study(CHOOSING, [CHOICE, *LATER], store := ResultStore.open(tmp_path, CHOOSING))
    assert not any(row["failure"] for row in store.rows.values()), "all are tried again"


def test_choosing_never_sees_the_test_part(tmp_path, monkeypatch):
    """Touching it before training has ended is noticed, and training has no way to it."""
    log = []

    class Guarded(list):
        def __iter__(self):
            log.append("test")
            return super().__iter__()

        def __getitem__(self, index):
            log.append("test")
            return super().__getitem__(index)

    def fit(self, words, labels):
        assert all(any(word is known for known in MANY.X_train) for word in words)
        result = original(self, words, labels)
        log.append("trained")
        return result

    original = Selected.fit
    monkeypatch.setattr(Selected, "fit", fit)
    words = [sample.copy() for sample in X]
    study = replace(
        CHOOSING, split=lambda spec: Split(MANY.X_train, MANY.y_train, Guarded(words), Guarded(Y))
    )
    [row] = run_study(study, [CHOICE], ResultStore.open(tmp_path, study))
    assert not row["failure"]
    assert log[0] == "trained"
    assert "test" in log[1:]
