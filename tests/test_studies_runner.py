"""The runner: every fit once, kept at once, the same tables however it was run."""

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from medn_edu.estimators import M3N
from medn_edu.studies.kit import results, runner
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.results import ResultStore
from medn_edu.studies.kit.runner import evaluate, run_study
from medn_edu.studies.kit.selection import Selected, paths_of
from medn_edu.studies.kit.specs import FitSpec, Split, Study, caption_only, panels
from medn_edu.studies.kit.summary import read_constants
from medn_edu.studies.kit.trained import Trained

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


TOY = Study("toy", "a toy", lambda scale, seed: SPECS, Trained(toy_split), lambda rows, path: None)


def fitting(study=TOY, **changes):
    """The study with another split, other models or measures."""
    return replace(study, fit=replace(study.fit, **changes))


def run(folder, specs=SPECS, study=TOY, **more):
    return run_study(study, specs, ResultStore.open(folder, study), **more)


def done(folder, specs=SPECS, study=TOY):
    store = ResultStore.open(folder, study)
    return [spec for spec in specs if store.is_done(spec)]


def tables(folder: Path) -> bytes:
    return (folder / "results.csv").read_bytes()


def refuses(folder, said, study=TOY):
    """Opening the folder fails, and leaves it as it is."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=said):
        ResultStore.open(folder, study)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_every_fit_is_a_row_sorted_by_key(tmp_path):
    rows = run(tmp_path, SPECS[::-1])
    assert [row["key"] for row in rows] == sorted({spec.key for spec in SPECS})
    assert all(row["error"] == 0 and not row["failure"] for row in rows)
    assert "seconds" not in tables(tmp_path).decode(), "times stand in a file of their own"
    assert {path.name for path in tmp_path.iterdir()} == {"results.csv", "timings.csv"}
    assert rows == run(tmp_path), "rows are those that a resumed run would read, to the last digit"


OWN = fitting(
    models={"twice": Model("twice", lambda C: M3N(2 * C, verbose=0), "M3N with twice the C")},
    measured=("largest",),
    measure=lambda spec, model: {"largest": float(np.abs(model.weights_).max()) + spec.fold},
)
OWN_SPECS = [FitSpec("toy", fold, "twice", (("C", 0.25),)) for fold in range(2)]


def test_a_study_has_models_and_columns_of_its_own(tmp_path):
    rows = run(tmp_path, OWN_SPECS, OWN)
    expected = np.abs(M3N(0.5, verbose=0).fit(X, Y).weights_).max()
    assert [row["largest"] - row["fold"] for row in rows] == pytest.approx([expected] * 2, rel=0.02)
    assert "C=0.5 " in rows[0]["settings"]
    header = tables(tmp_path).decode().partition("\n")[0]
    assert header == ",".join(["key", *OWN.row_columns, "failure", "settings", "version"])
    assert done(tmp_path, OWN_SPECS, OWN) == OWN_SPECS
    refuses(tmp_path, "cannot be continued")
    with pytest.raises(ValueError, match="does not know toy"):
        run_study(OWN, OWN_SPECS, ResultStore.open(tmp_path / "other", TOY))


def test_times_by_the_clock_and_by_the_processor(tmp_path):
    class Sleeper(M3N):
        def fit(self, X, y):
            time.sleep(0.2)
            return super().fit(X, y)

    study = fitting(OWN, models={"twice": Model("twice", lambda C: Sleeper(C, verbose=0), "")})
    M3N(verbose=0).fit(X, Y)  # kernels are loaded
    rows = run(tmp_path, OWN_SPECS[:1], study)
    assert rows[0]["seconds"] >= 0.2 > rows[0]["cpu_seconds"] >= 0
    assert ResultStore.open(tmp_path, study).of(OWN_SPECS[:1]) == rows
    (tmp_path / "timings.csv").unlink()
    [row] = ResultStore.open(tmp_path, study).of(OWN_SPECS[:1])
    assert row["seconds"] is row["cpu_seconds"] is None


def test_everything_is_computed_with_one_thread(tmp_path):
    """As in a worker, where linear algebra has no more: data, training, errors, measures."""
    seen = {}

    def noting(what, function):
        def note(*arguments):
            seen[what] = max(library["num_threads"] for library in threadpool_info())
            return function(*arguments)

        return note

    class Watched(M3N):
        fit = noting("fit", M3N.fit)
        predict = noting("predict", M3N.predict)

    study = fitting(
        OWN,
        split=noting("split", toy_split),
        models={"twice": Model("twice", lambda C: Watched(C, verbose=0), "")},
        measure=noting("measure", OWN.fit.measure),
    )
    with threadpool_limits(2):
        noting("outside", list)()
        runner.read_data(study, OWN_SPECS[0])
        assert seen["split"] == 1
        [row] = run(tmp_path, OWN_SPECS[:1], study)
    assert not row["failure"]
    assert seen == {"outside": 2, "split": 1, "fit": 1, "predict": 1, "measure": 1}


def test_generated_data_are_not_read_before_workers_start():
    read = []
    study = fitting(OWN, split=lambda spec: read.append(spec))
    runner.read_data(study, OWN_SPECS[0])
    assert read == [OWN_SPECS[0]]
    runner.read_data(replace(study, generated=True), OWN_SPECS[0])
    assert len(read) == 1


def test_fits_may_be_panels_of_several_rows(tmp_path):
    """They are made one by one, kept with all digits and in the order of the picture."""
    made = []

    def panel(spec):
        made.append(spec.model)
        if spec.model == "broken":
            raise ValueError("no such panel")
        return [{"panel": spec.model, "x": x, "cpu_seconds": 0.5 + x} for x in (1 / 3, 2.0)]

    names = ("b", "a", "broken")
    study = Study(
        "picture", "", panels("picture", names), panel, TOY.draw,
        caption_only("picture", "A caption."), ("panel", "x", "cpu_seconds"), scaled=False,
    )  # fmt: skip
    seen, specs = [], study.fits("quick", 7)
    rows = run(tmp_path, specs, study, n_jobs=2, progress=lambda *said: seen.append(said))
    assert [(row["panel"], row["x"]) for row in rows[:4]] == [
        ("b", 1 / 3), ("b", 2.0), ("a", 1 / 3), ("a", 2.0),
    ]  # fmt: skip
    assert "no such panel" in rows[4]["failure"]
    assert seen == [(0, 3, "b"), (1, 3, "a"), (2, 3, "broken"), (3, 3, "")]
    assert tables(tmp_path).startswith(b"key,panel,x,failure,settings,version\n")
    assert rows[1]["cpu_seconds"] == 2.5, "a row may have times of its own"
    assert rows[:4] == run(tmp_path, specs[:2], study)
    assert made == list(names)
    run(tmp_path, specs, study)
    assert made == [*names, "broken"]
    head, _, *times = (tmp_path / "timings.csv").read_bytes().splitlines(keepends=True)
    (tmp_path / "timings.csv").write_bytes(b"".join([head, *times]))
    found = ResultStore.open(tmp_path, study).of(specs[:2])
    told = [row["cpu_seconds"] for row in found]
    assert told == [0.5 + 1 / 3, 2.5, None, None], "three times are not those of four rows"
    lines = tables(tmp_path).splitlines(keepends=True)
    (tmp_path / "results.csv").write_bytes(b"".join([*lines, lines[1]]))
    refuses(tmp_path, "that no other line has", study)
    killed = ResultStore.open(tmp_path / "killed", study)
    killed.share_of_writing = 1e-9  # a fit of one row would wait in the journal
    for spec in specs[:2]:
        killed.add(evaluate(spec, study))
    kept = ResultStore.open(tmp_path / "killed", study).of(specs[:2])
    assert [row["panel"] for row in kept] == ["b", "b", "a", "a"]


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    made, counts = [], []
    monkeypatch.setattr(runner, "evaluate", lambda *call: made.append(call[0]) or evaluate(*call))
    run(tmp_path, SPECS[:3])
    run(tmp_path, progress=lambda *count: counts.append(count))
    assert made == SPECS, "one worker begins with the first, which are short"
    assert counts == [(n, len(SPECS), "") for n in range(3, len(SPECS) + 1)]
    run(tmp_path)
    assert len(made) == len(SPECS)
    run(tmp_path / "once")
    assert tables(tmp_path) == tables(tmp_path / "once")
    run_study(TOY, SPECS, ResultStore.open(tmp_path, TOY, force=True))
    assert made[-len(SPECS) :] == SPECS
    rows = run(tmp_path, SPECS[:2])
    assert [row["key"] for row in rows] == sorted(spec.key for spec in SPECS[:2])
    assert tables(tmp_path) == tables(tmp_path / "once"), "others are kept, but not reported"


@pytest.mark.parametrize("change", ["version", "settings", "revision"])
def test_what_another_version_model_or_revision_made_is_made_again(tmp_path, monkeypatch, change):
    run(tmp_path)
    first, study, stale = tables(tmp_path), TOY, SPECS
    if change == "version":
        for module in (results, runner):
            monkeypatch.setattr(module, "__version__", "99.0")
    elif change == "revision":
        study = replace(TOY, revision=2)
    else:
        finer = replace(MODELS["M3N"], build=lambda **parameters: M3N(tol=1e-3, **parameters))
        monkeypatch.setitem(MODELS, "M3N", finer)
        stale = [spec for spec in SPECS if spec.model == "M3N"]
    assert [spec for spec in SPECS if spec not in done(tmp_path, SPECS, study)] == stale
    rows = run(tmp_path, SPECS, study)
    made = {"version": "99.0", "settings": "tol=0.001", "revision": " revision=2"}[change]
    column = "version" if change == "version" else "settings"
    assert sum(made in str(row[column]) for row in rows) == len(stale)
    assert tables(tmp_path).count(b"\n") == 1 + len(SPECS), "new rows take the place of old ones"
    assert done(tmp_path, SPECS, study) == SPECS
    if change == "revision":
        assert tables(tmp_path).replace(made.encode(), b"") == first, "1 is not written"


def test_a_failed_fit_is_a_row_and_is_tried_again(tmp_path):
    broken, unknown = FitSpec("toy", 0, "M3N", (("C", -1.0),)), FitSpec("toy", 0, "M4N")
    rows = {row["key"]: row for row in run(tmp_path, [*SPECS, broken, unknown])}
    assert {key for key, row in rows.items() if row["failure"]} == {broken.key, unknown.key}
    failure = rows[broken.key]["failure"]
    assert re.fullmatch(r"ValueError: C is -1.* \(medn_edu/[a-z_0-9/]+\.py:\d+\)", failure), (
        "the place in this package, without the machine's folders"
    )
    assert "runner.py" not in failure, "innermost"
    assert "expected one of" in rows[unknown.key]["failure"]
    lines = tables(tmp_path).decode().splitlines(keepends=True)  # of another version's model
    text = "".join(line for line in lines if "M4N" not in line)
    (tmp_path / "results.csv").write_text(text, encoding="utf-8")
    assert done(tmp_path, [*SPECS, broken]) == SPECS


DAMAGED_CELLS = (
    ("error", "abc", "'abc'; expected a number from 0 to 1"),
    ("error", "1e400", "'1e400'; expected a number from 0 to 1"),
    ("error", "-5", "-5; expected a number from 0 to 1"),
    ("error", "", "empty; expected a number, as this fit did not fail"),
    ("chosen", "C", "'C'; expected constants such as C=1"),
    ("chosen", "5", "5; expected constants such as C=1"),
    ("fold", "7", None),
    ("status", "two  blanks", "'two  blanks'; expected words with single blanks between them"),
)


def test_damage_of_a_table_is_named(tmp_path):
    """Cell by cell; then lines, ends, whole tables and a column of times; force starts over."""
    run(tmp_path)
    whole, times = tables(tmp_path).decode(), (tmp_path / "timings.csv").read_text()
    header, line, *others = whole.splitlines()
    for column, cell, said in DAMAGED_CELLS:
        cells = line.split(",")
        cells[header.split(",").index(column)] = cell
        damage = "\n".join([header, ",".join(cells), *others, ""])
        (tmp_path / "results.csv").write_text(damage)
        place = f"line 2, column {column}, is {said}" if said else "line 2, column key, is "
        refuses(tmp_path, re.escape(place))
    for damage, said in (
        (f"{whole}{line}\n", r"line 10, column key, is .* that no other line has"),
        (whole.replace("M3N", "M4N"), r"line \d, column model, is 'M4N'; expected a model of this"),
        *[
            (text, r"results.csv holds results that cannot be continued.*--force")
            for text in (whole[:-20], "", "key,other\n1,2\n", "key", "\ufeff\x00")
        ],
    ):
        (tmp_path / "results.csv").write_text(damage)
        refuses(tmp_path, said)
    (tmp_path / "results.csv").write_text(whole)
    other = "".join(line.rpartition(",")[0] + "\n" for line in times.splitlines())
    (tmp_path / "timings.csv").write_text(other, encoding="utf-8")
    refuses(tmp_path, r"timings\.csv holds results that cannot be continued")
    (tmp_path / ".medn_edu-abc").write_text("left by a run that was killed while writing")
    assert not ResultStore.open(tmp_path, TOY, force=True).rows
    assert not list(tmp_path.iterdir())


def test_finished_fits_wait_in_the_journal_for_the_next_writing(tmp_path):
    store = ResultStore.open(tmp_path, TOY)
    store.share_of_writing = 1e-9  # the first table is written, what follows is in the journal
    for spec in SPECS[:4]:
        store.add([{**row, "seconds": 1.235} for row in evaluate(spec, TOY)])
    assert tables(tmp_path).count(b"\n") == 2
    lines = store.journal_file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    store.journal_file.write_bytes(b"".join(lines)[:-7])  # the process was killed while writing
    assert done(tmp_path) == SPECS[:3]
    assert ResultStore.open(tmp_path, TOY).of(SPECS[2:3])[0]["seconds"] == 1.235
    assert not store.journal_file.exists()
    assert tables(tmp_path).count(b"\n") == 4
    for torn in (b"", lines[0][:5]):
        store.journal_file.write_bytes(torn)
        assert done(tmp_path) == SPECS[:3]
    store.journal_file.write_bytes(b"other,columns\n")
    refuses(tmp_path, r"journal\.csv holds results that cannot be continued")


def test_a_fit_that_breaks_its_process_is_a_failed_fit(tmp_path):
    """Others that were under way at that time are made all the same."""
    parent = os.getpid()

    def split(spec):
        if os.getpid() != parent and spec == SPECS[4]:
            os._exit(1)
        return toy_split(spec)

    rows = run(tmp_path / "broken", SPECS, fitting(split=split), n_jobs=2)
    [failed] = [row for row in rows if row["failure"]]
    assert failed["key"] == SPECS[4].key
    assert "WorkerError: its process ended" in failed["failure"]
    for name in ("broken", "whole"):
        run(tmp_path / name)
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")


# Six words to choose a constant on, of which the strongest, 0.01, leaves the labels to chance.
MANY = Split(X * 3, Y * 3, X, Y)
CHOOSING = fitting(
    split=lambda spec: MANY,
    models={
        **MODELS,
        "chosen M3N": Model(
            "",
            lambda **fixed: Selected("M3N", paths_of((("C", (1e-9, 0.5)),)), n_folds=2, **fixed),
            "",
        ),
    },
)
CHOICE = FitSpec("toy", 0, "chosen M3N")
LATER = [FitSpec("toy", fold, "M3N", after=CHOICE.key) for fold in range(2)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_constants_that_another_fit_has_chosen(tmp_path, n_jobs):
    by_key = {row["key"]: row for row in run(tmp_path, [*LATER, CHOICE], CHOOSING, n_jobs=n_jobs)}
    chosen = by_key[CHOICE.key]["chosen"]
    assert chosen in ("C=1e-09", "C=0.5")
    for spec in LATER:
        assert by_key[spec.key]["parameters"] == chosen
        assert f"C={read_constants(chosen)[0][1]} " in by_key[spec.key]["settings"]
    assert done(tmp_path, LATER, CHOOSING) == LATER
    text = tables(tmp_path).decode()
    other = re.sub(rf"({re.escape(CHOICE.key)}.*){re.escape(chosen)}", r"\1C=7", text)
    (tmp_path / "results.csv").write_text(other, encoding="utf-8")
    assert not done(tmp_path, LATER, CHOOSING), "another choice, another fit"


def test_a_choice_that_failed_fails_what_waits_for_it(tmp_path):
    few = fitting(CHOOSING, split=lambda spec: Split(X[:1], Y[:1], X, Y))
    failures = {row["key"]: row["failure"] for row in run(tmp_path, [CHOICE, *LATER], few)}
    assert "n_folds is 2" in failures[CHOICE.key]
    assert all(f"no constants were chosen by {CHOICE.key}" in failures[s.key] for s in LATER)
    rows = run(tmp_path, [CHOICE, *LATER], CHOOSING)
    assert not any(row["failure"] for row in rows), "all are tried again"


def test_choosing_never_sees_the_test_part(tmp_path, monkeypatch):
    """Touching it before training has ended is noticed, and training has no way to it."""
    fit, trained = Selected.fit, []

    class Guarded(list):
        def __iter__(self):
            assert trained
            return super().__iter__()

        def __getitem__(self, index):
            assert trained
            return super().__getitem__(index)

    def watched(self, words, labels):
        assert all(any(word is known for known in MANY.X_train) for word in words)
        trained.append(fit(self, words, labels))
        return trained[0]

    monkeypatch.setattr(Selected, "fit", watched)
    guarded = replace(MANY, X_test=Guarded(word.copy() for word in X), y_test=Guarded(Y))
    [row] = run(tmp_path, [CHOICE], fitting(CHOOSING, split=lambda spec: guarded))
    assert not row["failure"]
    assert row["n_test"] == 2
