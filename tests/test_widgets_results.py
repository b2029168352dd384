"""The explorers of results: lessons hold on planted tables, can fail, and say what is shown."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medn_edu.experiments.stored import stored_studies
from medn_edu.plots import new_figure, save_figure
from medn_edu.widgets import Explorer, ocr_results, results, study_picture, synthetic_results

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


@pytest.fixture(scope="module")
def ocr() -> Explorer:
    other = [{"data": "ocr-rest", "fold": 0, "model": "M3N", "error": 0.1}]
    return ocr_results([*planted("ocr", (100, 250)), *other])


@pytest.mark.parametrize(("name", "count"), [("synthetic", 4), ("ocr", 3)])
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


def test_controls(synthetic: Explorer, ocr: Explorer) -> None:
    boxes = ["crf", "l2_crf", "l1_crf", "m3n", "lapmedn_variational"]
    assert list(synthetic.controls) == ["relevant", "n_train", "reference", *boxes]
    assert list(ocr.controls) == ["n_train", "reference", *boxes]
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
    everything = dict.fromkeys(list(ocr.controls)[2:], True)
    ocr.set(n_train=100, reference="CRF", **everything)
    table = [row for row in planted("ocr", (100, 250)) if row["data"] == "ocr-100"]
    errors = {name: [r["error"] for r in table if r["model"] == name] for name in ("M3N", "CRF")}
    mean = 100 * np.mean(np.subtract(errors["M3N"], errors["CRF"]))
    assert f", M3N −{-mean:.1f} ± " in ocr.summary
    assert ocr.summary.count("(less on 6 of 6)") == 4
    assert "differences to CRF" in ocr.frame().alt
    ocr.set(**dict.fromkeys(everything, False))
    assert ocr.summary.endswith("nothing to show; check another model.")


def test_the_papers_constants_are_apart() -> None:
    table = planted("ocr", (100, 250))
    stopped = [{**row, "model": "M3N sub-gradient"} for row in table if row["model"] == "M3N"]
    explorer = ocr_results([*table, *stopped], constants="papers")
    assert list(explorer.controls) == ["n_train", "reference", "crf", "m3n_sub_gradient"]
    assert explorer.summary.startswith("OCR letters, constants of the papers, 100 training words")
    assert "m3n_sub_gradient" not in ocr_results([*table, *stopped]).controls
    with pytest.raises(ValueError, match="expected one of chosen, papers"):
        ocr_results(table, constants="mine")


def test_pictures_change(ocr: Explorer) -> None:
    everything = dict.fromkeys(list(ocr.controls)[2:], True)
    first = ocr.set(n_train=100, reference=NONE, **everything).frame().png
    assert ocr.set(n_train=250).frame().png != first
    assert ocr.set(n_train=100, reference="M3N").frame().png != first


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
    ("study", "explorer"), [("synthetic-iid", synthetic_results), ("ocr", ocr_results)]
)
def test_lessons_hold_on_the_stored_tables(study: str, explorer: Any) -> None:
    assert study in stored_studies()
    browser = explorer()
    assert len(browser.lessons) >= 3
    for lesson in browser.lessons:
        assert browser.check(lesson), lesson.fact
