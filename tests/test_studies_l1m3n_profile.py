"""The study that times parts of algorithms for L1-M3N."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from medn_edu.studies.l1_table import CHAINS, mask_of
from medn_edu.studies.l1m3n_profile import BALL, COLD, L1M3N_PROFILE, PLANES, kept

FITS = L1M3N_PROFILE.fits("quick", 0)


@pytest.fixture(scope="module")
def rows():
    some = [
        spec for spec in FITS if {("radius", 0.25), ("beta", 100.0)}.isdisjoint(spec.parameters)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # steps are counted, as in the paper
        return [L1M3N_PROFILE.fit(spec) for spec in some]


def test_parts_take_less_than_the_whole(rows):
    for row in rows:
        assert set(row) == set(L1M3N_PROFILE.columns)
        assert 0 < row["part_seconds"] < row["total_seconds"] < 60, row


def test_a_cold_simplex_makes_the_same_rounds_in_more_time(rows):
    """Vertices may differ where several are best, so the rounds need not be equal to the last."""
    warm, cold = ([row for row in rows if row["model"] == name] for name in (PLANES, COLD))
    assert len(warm) == len(cold) > 0
    for one, other in zip(warm, cold, strict=True):
        assert abs(one["n_rounds"] - other["n_rounds"]) <= 5
        assert other["part_seconds"] > 1.2 * one["part_seconds"]


def test_the_report_counts_only_the_usual_step(rows, tmp_path):
    report = L1M3N_PROFILE.report(rows, "quick")
    assert report.caption.count(f"| {BALL} |") == 1
    usual = next(row for row in rows if row["beta"] == 10.0)
    share = 100 * usual["part_seconds"] / usual["total_seconds"]
    assert f"| {share:.3g} % |" in report.caption
    assert "|\n| Synthetic set 1 |" in report.caption, "a table, line by line"
    L1M3N_PROFILE.draw(rows, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_weights_count_that_are_left_in_some_fold():
    masks = [mask_of(np.arange(140) == number) for number in (3, 3, 139)]
    assert kept([{"irrelevant": mask} for mask in masks]) == 2


def test_paper_scale_has_words_and_all_folds():
    fits = L1M3N_PROFILE.fits("paper", 0)
    assert {spec.fold for spec in fits if spec.data == CHAINS} == set(range(10))
    assert len({spec.key for spec in fits}) == len(fits) == 10 * 27 + 5 * 23
    assert np.isin([BALL, PLANES, COLD], [spec.model for spec in fits]).all()
