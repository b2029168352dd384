"""Studies without fits: the table holds what the formulas give, and the figure comes from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medn_edu import __version__
from medn_edu.experiments.studies.curves import CURVES, run_curves
from medn_edu.experiments.tables import csv_text, read_csv
from medn_edu.theory import kl_norm

FIGURES = Path(__file__).resolve().parent.parent / "figures"


@pytest.mark.parametrize("name", CURVES)
def test_a_study_saves_table_figure_and_caption(name, tmp_path):
    study = CURVES[name]
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        rows = run_curves(study, tmp_path / run)
    for file in ("curves.csv", "figure.png"):
        first, second = ((tmp_path / run / file).read_bytes() for run in ("first", "second"))
        assert first == second
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        "caption.md", "curves.csv", "figure.png", "runs.csv",
    }  # fmt: skip
    caption = (tmp_path / "first" / "caption.md").read_text(encoding="utf-8")
    assert f"Made by `medn-edu reproduce {name}`, medn_edu {__version__}," in " ".join(
        caption.split()
    )
    table = read_csv((tmp_path / "first" / "curves.csv").read_text(encoding="utf-8"))
    assert len(table) == len(rows)
    study.draw(table, tmp_path / "again.png")
    assert (tmp_path / "again.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", CURVES)
def test_the_committed_table_is_what_the_command_makes(name):
    rows = CURVES[name].rows()
    committed = read_csv((FIGURES / f"{name}.csv").read_text(encoding="utf-8"))
    made = read_csv(csv_text(rows, CURVES[name].columns))
    assert [list(row) for row in committed[:1]] == [list(CURVES[name].columns)]
    assert len(committed) == len(made)
    for old, new in zip(committed, made, strict=True):
        for column, value in new.items():
            if isinstance(value, str):
                assert old[column] == value
            else:
                assert old[column] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (FIGURES / f"{name}.png").stat().st_size > 10_000
    caption = " ".join((FIGURES / f"{name}.md").read_text(encoding="utf-8").split())
    assert caption.startswith(CURVES[name].caption.replace("  ", " "))


def test_shrinkage_obeys_corollary_7():
    rows = [row for row in CURVES["shrinkage"].rows() if row["panel"] == "Fig. 1"]
    for lam in (4, 6):
        curve = [(r["eta"], r["mean"]) for r in rows if r["prior"] == f"Laplace, λ = {lam}"]
        eta, mean = np.array(curve).T
        np.testing.assert_allclose(mean, 2 * eta / (lam - eta**2))
        assert np.ptp(eta) == pytest.approx(2 * np.sqrt(lam), rel=1e-3)
    assert {row["mean"] - row["eta"] for row in rows if row["prior"].startswith("Gaussian")} == {0}


def test_kl_balls_pass_0_1_at_equal_kl_norm():
    rows = CURVES["kl-norm"].rows()
    for lam in (4, 36, 400, 10_000):
        points = [(r["w1"], r["w2"]) for r in rows if r["norm"] == f"KL, λ = {lam:,}"]
        norms = [kl_norm(point, lam) for point in points]
        np.testing.assert_allclose(norms, kl_norm((0, 1), lam), rtol=1e-12)
        assert np.abs(np.array(points) - [0, 1]).max(axis=1).min() < 1e-12
