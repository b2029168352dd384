"""The explorers of results: what is computed and drawn, and lessons that hold and can fail."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from medn_edu.explorers import Explorer, new_figure, save_figure
from medn_edu.studies import browser
from medn_edu.studies.browser import ResultBrowser, ocr_results, study_picture, synthetic_results
from medn_edu.studies.claims import scores
from medn_edu.studies.kit.model_errors import (
    FAIR,
    StudyErrors,
    browser_frame,
    mean_interval,
    reading_of,
    study_errors,
)

MODELS = ("CRF", "M3N")


def rows(n_folds: int = 4) -> list[dict[str, Any]]:
    """Errors that a hard fold has more of; those of M3N are less by a point."""
    keys = itertools.product((2, 1), (50, 100), (("M3N", 0.0), ("CRF", 0.01)), range(n_folds))
    return [
        {
            "model": model, "fold": fold, "setting": setting, "n": n, "truth_error": 0.07 + 0.01 * fold,
            "error": 0.2 + 0.05 * fold + more - n / 1000 + setting / 100,
        }
        for setting, n, (model, more), fold in keys
    ]  # fmt: skip


def place(row: Any) -> tuple[int, int] | None:
    return None if row["n"] is None else (row["setting"], row["n"])


@pytest.fixture(scope="module")
def study() -> StudyErrors:
    return study_errors(rows(), place)


def test_rows_in_order_averaged_over_repetitions_and_without_what_has_no_place(
    study: StudyErrors,
) -> None:
    assert (study.settings, study.sizes, study.models) == ([1, 2], [50, 100], list(MODELS))
    found = study_errors(rows(), place, lambda row: row["fold"] // 2)
    assert found.of(1, 50, "M3N") == pytest.approx({0: 0.185, 1: 0.285})
    assert found.floors[1] == pytest.approx({0: 0.075, 1: 0.095})
    table = rows(1)
    table[0]["error"], table[1]["error"], table[2]["n"] = None, float("nan"), None
    assert study_errors(table, place).of(2, 50, "M3N") == {}
    with pytest.raises(ValueError, match="holds no errors"):
        study_errors(table[:3], place)
    assert not mean_interval([0.25]).excludes(9), "one value has no interval"
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])


def test_words_are_drawn_anew_by_type(study: StudyErrors) -> None:
    """In intervals of differences, as the ledger has them, and of the errors themselves."""
    table = [
        {**row, "word_errors": f"{row['fold']} {3 if row['model'] == 'CRF' else 1} 0"}
        for row in rows()
    ]
    found = study_errors(table, place)
    errors = np.array(list(found.of(1, 50, "M3N").values()))
    assert errors.sum(axis=1) == pytest.approx(list(study.of(1, 50, "M3N").values()))
    mean = found.interval(1, 50, "M3N")
    assert mean is not None
    assert (mean.mean, mean.low, mean.high) == pytest.approx(scores.mean_interval(errors)[:3])
    differences = np.array(list(found.of(1, 50, "M3N", "CRF").values()))
    assert differences.shape == (4, 3)
    assert differences.sum(axis=1) == pytest.approx([-0.01] * 4)
    less = found.interval(1, 50, "M3N", "CRF")
    assert less is not None
    assert (less.mean, less.low, less.high) == pytest.approx(scores.mean_interval(differences)[:3])
    assert less.half > 0.01, "by types it is wide, and by folds a point"
    drawn = ResultBrowser(found, "words", "folds")
    drawn.show(browser_frame(found, 1, 50, ["M3N"]), "")
    left, right = drawn.figure.axes[1].get_xlim()
    assert left < 100 * mean.low < 100 * mean.high < right, "though single folds are closer"


def test_names_tell_models_and_readings() -> None:
    names = (
        "L1-M3N",
        "LapMEDN variational, C = 1",
        "M3N 200 passes, mean slack",
        "L1-M3N EM, 3 rounds",
        "notes",
    )
    assert [reading_of(name) for name in names] == [
        ("L1-M3N", FAIR),
        ("LapMEDN variational", "papers' constants, C = 1"),
        ("M3N", "papers' constants, 200 passes"),
        ("L1-M3N", "papers' constants, at the optimum"),
        ("notes", FAIR),
    ]


def test_models_of_another_setting_have_no_row_but_room(study: StudyErrors) -> None:
    drawn = ResultBrowser(study, "words", "folds")
    both = browser_frame(study, 1, 50, MODELS, rows=["M3N"])
    assert (list(both.here), both.rows, both.models) == (["M3N"], ["M3N"], MODELS)
    drawn.show(both, "")
    left, right = drawn.figure.axes
    assert [label.get_text() for label in right.get_yticklabels()] == ["M3N"]
    means = [line for line in right.lines if line.get_markersize() == 9 and len(line.get_xdata())]
    assert [np.round(line.get_ydata()).tolist() for line in means] == [[0]], "the first row"
    with_room = left.get_ylim()
    drawn.show(browser_frame(study, 1, 50, ["M3N"], rows=["M3N"]), "")
    assert left.get_ylim()[1] < with_room[1]


def test_differences_are_taken_repetition_by_repetition(study: StudyErrors) -> None:
    """Their interval is narrow where those of errors are wide."""
    errors = browser_frame(study, 1, 50, MODELS)
    difference = browser_frame(study, 1, 50, MODELS, "CRF")
    assert errors.here["M3N"].half > 0.05
    assert list(difference.here) == ["M3N"]
    assert difference.here["M3N"].half < 1e-9
    assert difference.here["M3N"].mean == pytest.approx(-0.01)
    assert difference.floor is None
    assert errors.floor is not None
    assert errors.floor.mean == pytest.approx(0.085)
    table = [row for row in rows() if (row["model"], row["fold"]) != ("CRF", 2)]
    paired = study_errors(table, place).of(1, 50, "M3N", "CRF")
    assert paired == pytest.approx(dict.fromkeys((0, 1, 3), -0.01))


def test_what_is_drawn_is_what_the_frame_says(study: StudyErrors) -> None:
    drawn = ResultBrowser(study, "words", "folds")
    frame = browser_frame(study, 2, 100, MODELS)
    drawn.show(frame, "Two")
    left, right = drawn.figure.axes
    titles = [ax.get_title(loc="left") for ax in (left, right)]
    assert titles == ["Two", "100 words\n4 folds"]
    means = [line.get_ydata() for line in left.lines if line.get_marker() in ("o", "^")]
    curves = [frame.curves[name].values() for name in MODELS]
    assert np.allclose(means, [[100 * i.mean for i in curve] for curve in curves])
    segments = np.array([bars.get_segments() for bars in left.collections])
    assert np.allclose(segments[..., 1], [[(100 * i.low, 100 * i.high) for i in c] for c in curves])
    dots = [line.get_xdata() for line in right.lines if len(line.get_xdata()) == 4]
    assert np.allclose(dots, [[100 * e for e in frame.single[name].values()] for name in MODELS])
    (floor,) = [line for line in left.lines if line.get_color() == "#22303C"]
    assert np.allclose(floor.get_ydata(), 8.5)


def test_models_come_and_go_and_single_repetitions_are_drawn(study: StudyErrors) -> None:
    drawn = ResultBrowser(study, "words", "folds")
    drawn.show(browser_frame(study, 1, 50, ["M3N"], "CRF"), "One")
    left, right = drawn.figure.axes
    assert left.get_ylabel() == "error minus that of CRF (points)"
    assert [t.get_text() for t in right.get_yticklabels()] == ["CRF\n(reference)", "M3N"]
    low, high = left.get_ylim()
    assert low < -1 < 0 < high
    drawn.show(browser_frame(study, 1, 50, []), "One")
    assert not any(len(line.get_xdata()) for line in left.lines if line.get_marker() in ("o", "^"))
    assert "0 folds" in right.get_title(loc="left")
    single = study_errors(rows(1), place)
    drawn = ResultBrowser(single, "words", "folds")
    drawn.show(browser_frame(single, 1, 50, MODELS), "One, without interval")
    drawn.figure.draw_without_rendering()
    assert np.isfinite(drawn.figure.axes[0].get_ylim()).all()


SHIFTS = {"CRF": 0.07, "L2-CRF": 0.02, "L1-CRF": -0.03, "M3N": 0.022, "LapMEDN variational": 0.0}
FROZEN = {"LapMEDN": 0.0, "LapMEDN, C = 1": 0.02, "L2-CRF, six lam": 0.03}
NO_BOX = dict.fromkeys(("crf", "l2_crf", "l1_crf", "m3n", "lapmedn_variational"), False)
ALL_BOXES = dict.fromkeys(NO_BOX, True)
NONE = "nothing"


def planted(prefix: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Hard and easy repetitions, shared by all models; a sparse model gains at few features."""
    rng = np.random.default_rng(0)
    table = []
    for kind, fold in itertools.product((10, 50) if prefix == "iid" else (50,), range(6)):
        hard = 0.2 + 0.03 * rng.standard_normal()
        models = SHIFTS | FROZEN if prefix == "iid" else SHIFTS
        for n, (model, shift) in itertools.product(sizes, models.items()):
            gain = shift * (10 / kind if shift < 0 else 1)
            error = hard * (sizes[0] / n) ** 0.3 + gain + 0.002 * rng.standard_normal()
            data = f"{prefix}-{kind}-{n}" if prefix == "iid" else f"{prefix}-{n}"
            row = {"data": data, "fold": fold, "model": model, "error": error}
            table.append(row | ({"truth_error": 0.3 * hard} if prefix == "iid" else {}))
    return table


@pytest.fixture(scope="module")
def synthetic() -> Explorer:
    return synthetic_results(planted("iid", (30, 150)))


def with_papers_constants(losses: tuple[float, float] = (0.02, 0.05)) -> list[dict[str, Any]]:
    """The planted folds, and M3N with a constant that spoils it, less so when stopped early."""
    table = planted("ocr", (100, 250))
    endings = zip((" 20 passes", " at its optimum"), losses, strict=True)
    return table + [
        {**row, "model": row["model"] + ending, "error": row["error"] + loss}
        for ending, loss in endings
        for row in table
        if row["model"] == "M3N"
    ]


def grouped(sparse: float = -0.04) -> list[dict[str, Any]]:
    """Four data sets, in 3 and in 2 parts; the papers' constants train the first, harder by a point."""
    rng = np.random.default_rng(1)
    table = []
    for number in range(4):
        hard = 0.2 + 0.03 * rng.standard_normal()
        for n_parts, part in ((3, 0), (3, 1), (3, 2), (2, 0), (2, 1)):
            for model, shift in SHIFTS.items():
                error = hard + 0.01 * (part - (n_parts - 1) / 2) + 0.02 * n_parts
                gain = sparse if model == "L1-CRF" else max(shift, 0)
                row = {"data": f"correlated-{n_parts}-{number}", "fold": part, "model": model}
                counts = {"n_train": 1000 // n_parts + (part == 1), "truth_error": 0.5 * hard}
                noise = 0.001 * rng.standard_normal()
                table.append(row | counts | {"error": error + gain + noise})
    first = [row for row in table if row["fold"] == 0 and row["model"] == "M3N"]
    more = [{**row, "model": "M3N 5 passes", "error": row["error"] + 0.01} for row in first]
    return [*table, *more, {**table[0], "error": 0.01, "fold": -1}]


@pytest.fixture(scope="module")
def ocr() -> Explorer:
    return ocr_results(
        [*with_papers_constants(), {"data": "ocr-rest", "fold": 0, "model": "M3N", "error": 0.1}]
    )


@pytest.fixture(scope="module")
def groups() -> Explorer:
    return synthetic_results(grouped(), study="synthetic-correlated")


def test_lessons_hold(synthetic: Explorer, ocr: Explorer, groups: Explorer) -> None:
    """On planted tables, and on a stored one that no explorer of the gallery shows."""
    stored = synthetic_results(study="synthetic-correlated")
    for explorer, n in ((synthetic, 5), (ocr, 4), (groups, 4), (stored, 4)):
        assert len(explorer.lessons) == n
        hidden = explorer.lessons[0]
        assert f"{hidden.move['n_train']} training" in hidden.fact, "a fact says where it holds"
        assert all(explorer.check(lesson) for lesson in explorer.lessons)


def test_lessons_can_fail() -> None:
    table = planted("iid", (30, 150))
    for row in table:
        row["error"] = 0.15 if row["data"].endswith("-30") else 0.2 + 0.01 * row["fold"]
        row["truth_error"] = 0.3
    wrong = synthetic_results(table)
    assert len(wrong.lessons) == 4, "no difference is hidden where there is none"
    assert not any(wrong.check(lesson) for lesson in wrong.lessons)
    lucky = planted("ocr", (100, 250))
    for row in lucky:
        if (row["model"], row["fold"], row["data"]) == ("CRF", 3, "ocr-100"):
            row["error"] = 0.05
    copies = synthetic_results(grouped(sparse=0.03), study="synthetic-correlated")
    for start, explorer in (
        ("Without a penalty", ocr_results(lucky)),
        ("An L1 penalty also pays", copies),
        ("Trained to its optimum, M3N", ocr_results(with_papers_constants((0.02, -0.01)))),
    ):
        [lesson] = [lesson for lesson in explorer.lessons if lesson.fact.startswith(start)]
        assert not explorer.check(lesson), start


def test_controls(ocr: Explorer) -> None:
    assert list(ocr.controls) == ["reading", "n_train", "reference", *NO_BOX]
    assert ocr.controls["n_train"].values == (100, 250)
    printed = [f"papers' constants, {ending}" for ending in ("20 passes", "at the optimum")]
    assert ocr.controls["reading"].values == (FAIR, *printed)
    assert "M3N at its optimum" not in ocr.controls["reference"].values
    without = ocr_results(planted("ocr", (100,)))
    assert without.controls["reading"].values == (FAIR,), "there is nothing to choose"


def test_it_opens_with_few_models_less_the_errors_of_one_and_boxes_add_more() -> None:
    explorer = ocr_results(planted("ocr", (100,)))
    assert "error minus that of M3N" in explorer.summary
    right, names = explorer.figure.axes[1], {"L2-CRF", "L1-CRF", "M3N\n(reference)"}
    assert {label.get_text() for label in right.get_yticklabels()} == names
    assert right.get_ylim() == (2.6, -0.6), "three rows fill the height"
    assert ", CRF +" in explorer.set(crf=True).summary
    assert {label.get_text() for label in right.get_yticklabels()} == names | {"CRF"}
    assert explorer.figure.get_figheight() * 96 <= 520, "with its controls it fits one screen"
    assert "each fold" in explorer.caption


def test_crfs_of_the_papers_stand_next_to_every_reading(synthetic: Explorer) -> None:
    reading = "papers' constants, C = 1"
    assert synthetic.controls["reading"].values == (FAIR, reading)
    synthetic.set(reading=reading, relevant=10, n_train=30, reference="L2-CRF", **ALL_BOXES)
    assert ", L2-CRF, six λ +0.9 ± 0.3" in synthetic.summary
    assert ", L1-CRF −5.2 ± 0.2" in synthetic.summary, "there is no other"
    synthetic.set(l2_crf=False)
    assert "L2-CRF, six λ" not in synthetic.summary


def test_summary_counts_on_how_many_repetitions_a_model_errs_less(ocr: Explorer) -> None:
    ocr.set(reading=FAIR, n_train=100, reference="CRF", **ALL_BOXES)
    table = [row for row in planted("ocr", (100, 250)) if row["data"] == "ocr-100"]
    m3n, crf = (
        np.mean([row["error"] for row in table if row["model"] == name]) for name in ("M3N", "CRF")
    )
    assert f", M3N −{100 * (crf - m3n):.1f} ± " in ocr.summary
    assert ocr.summary.count("(lower on 6 of 6)") == 4
    assert "differences to CRF" in ocr.frame().alt
    ocr.set(**NO_BOX)
    assert ocr.summary.endswith("nothing to show; check another model.")


def test_the_papers_constants_take_the_place_of_chosen_ones(ocr: Explorer) -> None:
    reading = "papers' constants, 20 passes"
    ocr.set(reading=reading, n_train=100, reference="M3N", **ALL_BOXES)
    start = f"OCR letters, {reading}, 100 training words, 6 folds: error minus that of"
    assert ocr.summary.startswith(f"{start} M3N ({FAIR}), in points")
    assert ", M3N 20 passes +2.0 ± 0.0 (lower on 0 of 6)" in ocr.summary
    shown, gone = ocr.summary.split(" Not in this reading: ")
    assert "LapMEDN" not in shown, "its constants are not the papers'"
    assert "LapMEDN" in gone
    others = ocr.set(reference=NONE).summary.split(": error")[1].split(", M3N")[0]
    assert others in ocr.set(reading=FAIR).summary, "these stay as they are"
    assert "LapMEDN variational" in ocr.summary
    assert "M3N" not in ocr.set(reading=reading, m3n=False).summary
    optimum = ocr.set(
        reading="papers' constants, at the optimum", reference="M3N", m3n=True
    ).summary
    assert "M3N at its optimum +5.0 ±" in optimum


def test_parts_of_a_data_set_are_averaged(groups: Explorer) -> None:
    assert groups.controls["n_train"].values == (333, 500)
    groups.set(n_train=500, reference=NONE, **NO_BOX | {"m3n": True})
    table = [row for row in grouped() if "-2-" in row["data"] and row["model"] == "M3N"]
    parts = np.array([row["error"] for row in table]).reshape(4, 2)
    half = stats.t.ppf(0.975, 3) * stats.sem(parts.mean(axis=1))
    said = f"% of labels: M3N {100 * parts.mean():.1f} ± {100 * half:.1f}; the generating model "
    assert f"4 random CRFs: error with 95 % interval in {said}" in groups.summary
    assert groups.summary.startswith(
        f"Relevant features in groups of three, {FAIR}, 500 training seq"
    )


def test_only_parts_that_both_models_have_are_compared(groups: Explorer) -> None:
    groups.set(reading="papers' constants, 5 passes", n_train=333, reference="M3N", **ALL_BOXES)
    assert "M3N 5 passes +1.0 ± 0.0" in groups.summary


def test_picture_of_a_stored_study(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(rows: Any, path: Any) -> None:
        assert rows == ["the row of planted"]
        save_figure(new_figure(6, 2), path)

    study = SimpleNamespace(draw=None, more_figures={"wide": draw})
    monkeypatch.setitem(browser.STUDIES, "planted", study)
    monkeypatch.setattr(browser, "stored_rows", lambda name: [f"the row of {name}"])
    picture = study_picture("planted", "An empty figure.", "wide")
    data, metadata = picture._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG")
    assert repr(picture) == data["text/plain"] == "An empty figure."
    assert metadata["image/png"] == {"alt": "An empty figure.", "width": 576}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: study_picture("no-such-study", ""), "study is 'no-such-study'; expected one of"),
        (lambda: study_picture("ocr", "", "tall"), "ocr has no figure 'tall'; it has "),
        (lambda: synthetic_results(study="ocr"), "expected one of synthetic-iid, synthetic-corr"),
        (lambda: synthetic_results(planted("ocr", (100,))), "holds no errors"),
    ],
)
def test_what_does_not_exist_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
