"""The explorers of results: lessons hold on planted tables, can fail, and say what is shown."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from medn_edu.explorers import Explorer, new_figure, results, save_figure
from medn_edu.studies.browser import ocr_results, study_picture, synthetic_results
from medn_edu.studies.kit.stored import stored_studies

SHIFTS = {"CRF": 0.07, "L2-CRF": 0.02, "L1-CRF": -0.03, "M3N": 0.022, "LapMEDN variational": 0.0}
NONE = "nothing"


def planted(prefix: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Hard and easy repetitions, shared by all models; a sparse model gains at few features."""
    rng = np.random.default_rng(0)
    table = []
    for kind in (10, 50) if prefix == "iid" else (50,):
        for fold in range(6):
            hard = 0.2 + 0.03 * rng.standard_normal()
            for n in sizes:
                for model, shift in SHIFTS.items():
                    shift *= 10 / kind if shift < 0 else 1
                    error = hard * (sizes[0] / n) ** 0.3 + shift + 0.002 * rng.standard_normal()
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
    endings = zip((" sub-gradient", " at its optimum"), losses, strict=True)
    return table + [
        {**row, "model": row["model"] + ending, "error": row["error"] + loss}
        for ending, loss in endings
        for row in table
        if row["model"] == "M3N"
    ]


def grouped(sparse: float = -0.04) -> list[dict[str, Any]]:
    """Four data sets, in 3 and in 2 parts; what chooses constants or trains once is to be left out."""
    rng = np.random.default_rng(1)
    table = []
    for number in range(4):
        hard = 0.2 + 0.03 * rng.standard_normal()
        for n_parts in (3, 2):
            for part in range(n_parts):
                for model, shift in SHIFTS.items():
                    error = hard + 0.01 * (part - (n_parts - 1) / 2) + 0.02 * n_parts
                    shift = sparse if model == "L1-CRF" else max(shift, 0)
                    row = {"data": f"correlated-{n_parts}-{number}", "fold": part, "model": model}
                    numbers = {"n_train": 1000 // n_parts + (part == 1), "truth_error": 0.5 * hard}
                    noise = 0.001 * rng.standard_normal()
                    table.append(row | numbers | {"error": error + shift + noise})
    left_out = {**table[0], "error": 0.01}
    return [*table, left_out | {"fold": -1}, left_out | {"model": "M3N at its optimum"}]


@pytest.fixture(scope="module")
def ocr() -> Explorer:
    other = [{"data": "ocr-rest", "fold": 0, "model": "M3N", "error": 0.1}]
    return ocr_results([*with_papers_constants(), *other])


@pytest.fixture(scope="module")
def groups() -> Explorer:
    return synthetic_results(grouped(), study="synthetic-correlated")


@pytest.mark.parametrize(("name", "count"), [("synthetic", 4), ("ocr", 4), ("groups", 4)])
def test_lessons_hold(request: pytest.FixtureRequest, name: str, count: int) -> None:
    explorer = request.getfixturevalue(name)
    assert len(explorer.lessons) == count
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(synthetic: Explorer) -> None:
    hidden, more, sparse, floor = synthetic.lessons
    table = planted("iid", (30, 150))
    for row in table:
        row["error"] = 0.15 if row["data"].endswith("-30") else 0.2 + 0.01 * row["fold"]
        row["truth_error"] = 0.3
    wrong = synthetic_results(table)
    facts = {lesson.fact: wrong.check(lesson) for lesson in wrong.lessons}
    assert facts == {more.fact: False, sparse.fact: False, floor.fact: False}
    assert hidden.fact not in facts, "no difference is hidden where there is none"


def test_lesson_of_the_penalty_can_fail() -> None:
    table = planted("ocr", (100, 250))
    lucky = [r for r in table if (r["model"], r["fold"], r["data"]) == ("CRF", 3, "ocr-100")]
    for row in lucky:
        row["error"] = 0.05
    explorer = ocr_results(table)
    assert [explorer.check(lesson) for lesson in explorer.lessons[-1:]] == [False]


@pytest.mark.parametrize("losses", [(-0.02, 0.05), (0.02, 0.01)])
def test_lesson_of_the_papers_constants_can_fail(losses: tuple[float, float]) -> None:
    explorer = ocr_results(with_papers_constants(losses))
    assert not explorer.check(explorer.lessons[-1])


def test_lesson_of_copies_can_fail() -> None:
    explorer = synthetic_results(grouped(sparse=0.03), study="synthetic-correlated")
    facts = {lesson.fact: explorer.check(lesson) for lesson in explorer.lessons}
    assert [holds for fact, holds in facts.items() if "sparsity" in fact] == [False]


def test_controls(synthetic: Explorer, ocr: Explorer) -> None:
    boxes = ["crf", "l2_crf", "l1_crf", "m3n", "lapmedn_variational"]
    assert list(synthetic.controls) == ["relevant", "n_train", "reference", *boxes]
    assert list(ocr.controls) == ["constants", "n_train", "reference", *boxes]
    assert ocr.controls["constants"].values == ("chosen", "of the papers")
    assert ocr.controls["n_train"].values == (100, 250)
    assert synthetic.controls["relevant"].values == (10, 50)


def test_summary_says_errors_and_floor(synthetic: Explorer) -> None:
    off = {"m3n": False, "l1_crf": False, "crf": False, "lapmedn_variational": False}
    synthetic.set(relevant=50, n_train=30, reference=NONE, l2_crf=True, **off)
    values = [
        row for row in planted("iid", (30, 150))
        if row["data"] == "iid-50-30" and row["model"] == "L2-CRF"
    ]  # fmt: skip
    mean = 100 * np.mean([row["error"] for row in values])
    assert synthetic.summary.startswith(
        "50 relevant features, 30 training sequences, 6 random CRFs"
    )
    assert f"L2-CRF {mean:.1f} ±" in synthetic.summary
    assert "the generating model" in synthetic.summary
    assert "M3N" not in synthetic.summary


def test_summary_counts_on_how_many_repetitions_a_model_errs_less(ocr: Explorer) -> None:
    everything = dict.fromkeys(list(ocr.controls)[3:], True)
    ocr.set(constants="chosen", n_train=100, reference="CRF", **everything)
    table = [row for row in planted("ocr", (100, 250)) if row["data"] == "ocr-100"]
    errors = {name: [r["error"] for r in table if r["model"] == name] for name in ("M3N", "CRF")}
    mean = 100 * np.mean(np.subtract(errors["M3N"], errors["CRF"]))
    assert f", M3N −{-mean:.1f} ± " in ocr.summary
    assert ocr.summary.count("(less on 6 of 6)") == 4
    assert "differences to CRF" in ocr.frame().alt
    ocr.set(**dict.fromkeys(everything, False))
    assert ocr.summary.endswith("nothing to show; check another model.")


def test_the_papers_constants_take_the_place_of_chosen_ones(ocr: Explorer) -> None:
    everything = dict.fromkeys(list(ocr.controls)[3:], True)
    ocr.set(constants="of the papers", n_train=100, reference="M3N", **everything)
    start = "OCR letters, constants of the papers, 100 training words, 6 folds: error minus that of"
    assert ocr.summary.startswith(f"{start} M3N with chosen constants, in points")
    assert (
        ", M3N sub-gradient +2.0 ± 0.0 (less on 0 of 6), M3N at its optimum +5.0 ±" in ocr.summary
    )
    assert ocr.set(reference=NONE).summary.count("M3N") == 2
    others = ocr.summary.split(": error")[1].split(", M3N")[0]
    assert ocr.set(constants="chosen", reference=NONE).summary.count("M3N") == 1
    assert ocr.summary.split(": error")[1].split(", M3N")[0] == others, "these stay as they are"
    assert "M3N" not in ocr.set(constants="of the papers", m3n=False).summary
    ocr.set(constants="chosen", reference="M3N at its optimum", **everything)
    assert "minus that of M3N at its optimum, in points" in ocr.summary


def test_without_the_papers_constants_there_is_nothing_to_choose() -> None:
    assert ocr_results(planted("ocr", (100,))).controls["constants"].values == ("chosen",)


def test_parts_of_a_data_set_are_averaged(groups: Explorer) -> None:
    assert list(groups.controls)[:3] == ["n_train", "reference", "crf"]
    assert groups.controls["n_train"].values == (333, 500)
    boxes = dict.fromkeys(list(groups.controls)[2:], False)
    groups.set(n_train=500, reference=NONE, **{**boxes, "m3n": True})
    table = [row for row in grouped() if "-2-" in row["data"] and row["model"] == "M3N"]
    parts = np.array([row["error"] for row in table]).reshape(4, 2)
    half = stats.t.ppf(0.975, 3) * stats.sem(parts.mean(axis=1))
    expected = (
        f"4 random CRFs: error with 95 % interval in % of labels: M3N {100 * parts.mean():.1f}"
    )
    assert f"{expected} ± {100 * half:.1f};" in groups.summary
    assert groups.summary.startswith("Relevant features in groups of three, 500 training sequences")


def test_other_studies_are_refused() -> None:
    with pytest.raises(ValueError, match="expected one of synthetic-iid, synthetic-correlated"):
        synthetic_results(study="ocr")


def test_pictures_change(ocr: Explorer) -> None:
    everything = dict.fromkeys(list(ocr.controls)[3:], True)
    first = ocr.set(constants="chosen", n_train=100, reference=NONE, **everything).frame().png
    assert ocr.set(n_train=250).frame().png != first
    assert ocr.set(n_train=100, reference="M3N").frame().png != first
    assert ocr.set(reference=NONE, constants="of the papers").frame().png != first
    assert ocr.set(constants="chosen").frame().png == first


def test_other_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="holds no errors"):
        synthetic_results(planted("ocr", (100,)))


def test_picture_of_a_stored_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of one row, drawn in two ways."""

    def draw(rows: Any, path: Any, width: float = 4) -> None:
        assert rows == [{"error": 0.5}]
        save_figure(new_figure(width, 2), path)

    study = SimpleNamespace(draw=draw, more_figures={"wide": partial(draw, width=6)})
    monkeypatch.setitem(results.STUDIES, "planted", study)
    monkeypatch.setattr(results, "stored_rows", lambda name: [{"error": 0.5}])
    for figure, width in (("", 384), ("wide", 576)):
        picture = study_picture("planted", "An empty figure.", figure)
        data, metadata = picture._repr_mimebundle_()
        assert data["image/png"].startswith(b"\x89PNG")
        assert (repr(picture), data["text/plain"]) == ("An empty figure.",) * 2
        assert metadata["image/png"] == {"alt": "An empty figure.", "width": width}
    with pytest.raises(ValueError, match="has no figure 'tall'; it has wide"):
        study_picture("planted", "", "tall")


def test_picture_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="study is 'no-such-study'; expected one of"):
        study_picture("no-such-study", "")


@pytest.mark.parametrize(
    ("study", "explorer"),
    [
        ("synthetic-iid", synthetic_results),
        ("synthetic-correlated", partial(synthetic_results, study="synthetic-correlated")),
        ("ocr", ocr_results),
    ],
)
def test_lessons_hold_on_the_stored_tables(study: str, explorer: Any) -> None:
    assert study in stored_studies()
    browser = explorer()
    assert len(browser.lessons) >= 4
    for lesson in browser.lessons:
        assert browser.check(lesson), lesson.fact
