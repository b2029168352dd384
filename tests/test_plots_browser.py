"""The browser over errors: intervals by hand, differences by repetition, and what is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from medn_edu.studies.browser import (
    ResultBrowser,
    StudyErrors,
    browser_frame,
    mean_interval,
    study_errors,
)

MODELS = ("CRF", "M3N")


def rows(n_folds: int = 4) -> list[dict[str, Any]]:
    """Errors that a hard fold has more of; those of M3N are less by a point."""
    return [
        {
            "model": model,
            "fold": fold,
            "setting": setting,
            "n": n,
            "error": 0.2
            + 0.05 * fold
            + (0.01 if model == "CRF" else 0.0)
            - n / 1000
            + setting / 100,
            "truth_error": 0.07 + 0.01 * fold,
        }
        for setting in (2, 1)
        for n in (50, 100)
        for model in ("M3N", "CRF")
        for fold in range(n_folds)
    ]


def place(row: Any) -> tuple[int, int] | None:
    return None if row["n"] is None else (row["setting"], row["n"])


@pytest.fixture(scope="module")
def study() -> StudyErrors:
    return study_errors(rows(), place, MODELS)


def test_interval_is_students() -> None:
    values = np.array([0.3, 0.1, 0.25, 0.4])
    interval = mean_interval(values, level=0.9)
    low, high = stats.t.interval(0.9, 3, values.mean(), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert interval.half == pytest.approx((high - low) / 2)
    assert interval.excludes(high + 1e-6)
    assert not interval.excludes(low + 1e-6)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    single = mean_interval([0.25])
    assert (single.mean, single.n) == (0.25, 1)
    assert np.isnan(single.half)
    assert not single.excludes(9)
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])


def test_order_of_settings_sizes_and_models(study: StudyErrors) -> None:
    assert (study.settings, study.sizes, study.models) == ([1, 2], [50, 100], list(MODELS))
    unknown = study_errors(rows(), place, ("something else",))
    assert unknown.models == ["CRF", "M3N"]


def test_rows_without_error_or_place_are_left_out() -> None:
    table = rows(1)
    table[0]["error"], table[1]["error"], table[2]["n"] = None, float("nan"), None
    assert study_errors(table, place).of(2, 50, "M3N") == {}
    with pytest.raises(ValueError, match="holds no errors"):
        study_errors(table[:3], place)


def test_rows_of_one_repetition_are_averaged() -> None:
    of_setting = [row for row in rows() if row["setting"] == 1]
    found = study_errors(of_setting, place, MODELS, lambda row: row["fold"] // 2)
    assert found.of(1, 50, "M3N") == pytest.approx({0: 0.185, 1: 0.285})
    assert found.floors[1] == pytest.approx({0: 0.075, 1: 0.095})


def test_models_of_another_setting_have_no_row_but_room(study: StudyErrors) -> None:
    browser = ResultBrowser(study, "words", "folds", n_rows=1)
    both = browser_frame(study, 1, 50, MODELS, rows=["M3N"])
    assert (list(both.here), both.rows, both.scaled) == (["M3N"], ["M3N"], list(MODELS))
    browser.show(both, "")
    left, right = browser.figure.axes
    assert [label.get_text() for label in right.get_yticklabels()] == ["M3N"]
    means = [line for line in right.lines if line.get_markersize() == 9 and len(line.get_xdata())]
    assert [list(line.get_ydata()) for line in means] == [[0]], "the only row is the first"
    with_room = left.get_ylim()
    browser.show(browser_frame(study, 1, 50, ["M3N"], rows=["M3N"]), "")
    assert left.get_ylim()[1] < with_room[1]


def test_differences_are_taken_repetition_by_repetition() -> None:
    table = [row for row in rows() if (row["model"], row["fold"]) != ("CRF", 2)]
    found = study_errors(table, place).of(1, 50, "M3N", "CRF")
    assert list(found) == [0, 1, 3]
    assert np.allclose(list(found.values()), -0.01)


def test_paired_interval_is_narrow_where_those_of_errors_are_wide(study: StudyErrors) -> None:
    errors = browser_frame(study, 1, 50, MODELS).here
    difference = browser_frame(study, 1, 50, MODELS, "CRF")
    assert errors["M3N"].half > 0.05
    assert list(difference.here) == ["M3N"]
    assert difference.here["M3N"].half < 1e-9
    assert difference.here["M3N"].mean == pytest.approx(-0.01)
    assert difference.floor is None
    assert browser_frame(study, 1, 50, MODELS).floor.mean == pytest.approx(0.085)  # type: ignore[union-attr]


def lines(browser: ResultBrowser, panel: int, count: int) -> list[Any]:
    """Return the lines of a panel that have so many points."""
    return [line for line in browser.figure.axes[panel].lines if len(line.get_xdata()) == count]


def test_what_is_drawn_is_what_the_frame_says(study: StudyErrors) -> None:
    browser = ResultBrowser(study, "words", "folds")
    frame = browser_frame(study, 2, 100, MODELS)
    browser.show(frame, "Two")
    left, right = browser.figure.axes
    assert (left.get_title(loc="left"), right.get_title(loc="left")) == (
        "Two",
        "100 words, 4 folds",
    )
    drawn = [line.get_ydata() for line in left.lines if line.get_marker() in ("o", "^")]
    expected = [[100 * i.mean for i in frame.curves[name].values()] for name in MODELS]
    assert np.allclose(drawn, expected)
    segments = np.array([bars.get_segments() for bars in left.collections])
    ends = [[(100 * i.low, 100 * i.high) for i in frame.curves[n].values()] for n in MODELS]
    assert np.allclose(segments[..., 1], ends)
    dots = [line.get_xdata() for line in right.lines if len(line.get_xdata()) == 4]
    assert np.allclose(dots, [[100 * e for e in frame.single[name].values()] for name in MODELS])
    (floor,) = [line for line in left.lines if line.get_color() == "#22303C"]
    assert np.allclose(floor.get_ydata(), 8.5)


def test_models_come_and_go(study: StudyErrors) -> None:
    browser = ResultBrowser(study, "words", "folds")
    browser.show(browser_frame(study, 1, 50, ["M3N"], "CRF"), "One")
    left, right = browser.figure.axes
    assert left.get_ylabel() == "error minus that of CRF (points)"
    assert [t.get_text() for t in right.get_yticklabels()] == ["CRF\n(reference)", "M3N"]
    assert [len(line.get_xdata()) for line in left.lines if line.get_marker() == "^"] == [0]
    low, high = left.get_ylim()
    assert low < -1 < 0 < high
    browser.show(browser_frame(study, 1, 50, []), "One")
    assert all(len(line.get_xdata()) == 0 for line in left.lines if line.get_marker() in ("o", "^"))
    assert "0 folds" in right.get_title(loc="left")


def test_a_single_repetition_is_drawn_without_interval() -> None:
    study = study_errors(rows(1), place, MODELS)
    browser = ResultBrowser(study, "words", "folds")
    browser.show(browser_frame(study, 1, 50, MODELS), "One")
    browser.figure.draw_without_rendering()
    assert np.isfinite(browser.figure.axes[0].get_ylim()).all()
