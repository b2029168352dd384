"""Studies without fits: the table holds what the formulas give, and the figure comes from it."""

import re
from functools import cache

import numpy as np
import pytest
from making import make
from optimality import assert_nearest_in_ball, assert_touches
from scipy import stats
from test_studies_l1_algorithms import written

from medn_edu.studies.kit.stored import stored_folder, stored_rows
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.registry import STUDIES
from medn_edu.theory import kl_norm
from medn_edu.theory.projection import project_l1_ball

XY, W = ("x", "y"), ("w1", "w2")


@cache
def rows_of(name):
    study = STUDIES[name]
    return [row for spec in study.fits("paper", 0) for row in study.fit(spec)]


def points(name, columns, **wanted):
    chosen = [row for row in rows_of(name) if all(row[key] == wanted[key] for key in wanted)]
    return np.array([[row[column] for column in columns] for row in chosen])


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if not study.scaled])
def test_the_command_makes_what_is_published(name, tmp_path):
    study = STUDIES[name]
    make(study, tmp_path)
    table = read_csv((tmp_path / "results.csv").read_text(encoding="utf-8"), exact=True)
    study.draw(table, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "figure.png").read_bytes()
    written = read_csv(csv_text(rows_of(name), study.columns))
    for made, old in zip(written, stored_rows(name), strict=True):
        assert list(old) == list(study.columns)
        for column, value in old.items():
            text = value is None or isinstance(value, str)
            assert made[column] == (value if text else pytest.approx(value, rel=1e-6, abs=1e-9))
    caption = " ".join((stored_folder() / f"{name}.md").read_text(encoding="utf-8").split())
    assert caption.startswith(" ".join(study.report([], "").caption.split()))


def test_curves_and_balls_are_those_of_their_titles():
    """Corollary 7, and one KL-norm all around a ball and where it is touched."""
    for lam in (4, 6):
        of = {"panel": "Fig. 1", "prior": f"Laplace, λ = {lam}"}
        eta, mean = points("shrinkage", ("eta", "mean"), **of).T
        np.testing.assert_allclose(mean, 2 * eta / (lam - eta**2))
        assert np.ptp(eta) == pytest.approx(2 * np.sqrt(lam), rel=1e-3)
    for panel, lam, at_least in (("b", 4, 100), ("b", 10_000, 100), ("d", 36, 1), ("d", 400, 1)):
        ball = points("kl-norm", W, panel=panel, lam=lam)
        assert len(ball) >= at_least
        np.testing.assert_allclose([kl_norm(w, lam) for w in ball], kl_norm((0, 1), lam), rtol=1e-9)
        if panel == "d":
            assert_touches(lambda w, lam=lam: kl_norm(w, lam), ball[0], [0.5, 0.75**0.5])
    solid = points("kl-norm", ("w1", "w2", "w3"), panel="f", lam=400.0)
    assert len(solid) == 31 * 61
    np.testing.assert_allclose([kl_norm(w, 400) for w in solid], kl_norm((0, 0, 1), 400))
    assert points("kl-norm", W, panel="d", norm="L1").tolist() == [[0, 1]]
    smaller = points("kl-norm", ("w1",), panel="e")
    assert (smaller > 0).all()
    assert (np.diff(smaller, axis=0) < 0).all()


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_projections_are_the_nearest_points_of_shrinking_balls(norm, name):
    [point] = points("projections", XY, panel="a", what="point", of=name)
    [drawn] = points("projections", XY, panel="a", what=f"on {norm}", of=name)
    assert_nearest_in_ball(drawn, point, norm)
    assert (drawn == 0).sum() == (norm == "L1" and name != "p1")
    path = points("projections", XY, panel="b", what=f"on {norm}", of=name)
    sizes = np.linalg.norm(path, ord=int(norm[1]), axis=1)
    assert (np.diff(sizes) < 0).all()
    assert sizes[-1] == 0
    for w, radius in zip(path[:-1], sizes, strict=False):
        assert_nearest_in_ball(w / radius, path[0] / radius, norm)
    assert bool((path[:-1] == 0).any()) == (norm == "L1")


def test_boundaries_part_the_plane():
    for k, of in ((1, "w2 = 0"), (0, "w1 = 0")):
        boundary = points("projections", XY, panel="a", what="boundary", of=of)
        for share in (0.2, 1.0):
            between = boundary[0] + share * (boundary[1] - boundary[0])
            step = 1e-6 * np.eye(2)[k]
            assert project_l1_ball(between - step, 1.0)[k] == 0
            assert project_l1_ball(between + step, 1.0)[k] > 0


def laplace(panel, what, **of):
    return points("laplace", XY, panel=panel, what=what, **of)


def told(pattern):
    """Numbers in a caption, found by the words around them."""
    caption = STUDIES["laplace"].report([], "").caption
    return [float(number) for number in re.search(pattern, caption).groups()]


def test_bells_make_a_laplace_density():
    prior = stats.laplace(scale=1 / 2)
    w, exact = laplace("a", "density", of="λ = 4").T
    np.testing.assert_allclose(exact, prior.pdf(w), rtol=1e-12)
    shares, bells = laplace("a", "share"), laplace("a", "bell").reshape(-1, len(w), 2)
    tau, share = shares.T
    np.testing.assert_allclose(share, stats.expon(scale=1 / 2).pdf(tau) * tau * np.log(4))

    def drawn(w):
        return share * stats.norm(0, np.sqrt(tau)).pdf(np.asarray(w)[..., None])

    assert (bells[..., 0] == w).all()
    np.testing.assert_allclose(bells[..., 1].T, drawn(w), atol=1e-12)
    [percent] = told(r"together ([\d.]+) %")
    assert percent == pytest.approx(100 * share.sum(), abs=0.05)
    near, off, lacking = told(r"\|w\| ≥ ([\d.]+) .* within ([\d.]+) of .* lack ([\d.]+) %")
    w = np.r_[0, np.linspace(near, 40, 4000)]
    middle, *beside = prior.pdf(w) - drawn(w).sum(axis=1)
    assert lacking == pytest.approx(100 * middle, abs=0.05)
    assert 0.9 * off < np.abs(beside).max() < off + 5e-5


def test_the_caption_tells_the_shaded_gap():
    mean, variance, *found = told(
        r"Shaded for μ = ([\d.]+), σ² = ([\d.]+), .* bound is ([\d.]+) .* divergence ([\d.]+):"
        r" the darker part, ([\d.]+),"
    )
    of = f"μ = {mean:g}, σ² = {variance:g}"
    shown = [laplace("b", what, of=of)[0, 1] for what in ("least bound", "KL", "least gap")]
    assert found == pytest.approx(shown, abs=0.005)
    assert shown[0] - shown[1] == pytest.approx(shown[2])
    tau, gap = laplace("b", "gap", of=of).T
    best = laplace("b", "least gap", of=of)[0, 0]
    assert best == pytest.approx(np.sqrt((mean**2 + variance) / 4))
    assert abs(np.log(tau[gap.argmin()] / best)) <= np.log(tau[1] / tau[0])


def test_the_caption_tells_both_rates():
    shown = r"([\d.]+), by a factor of ([\d.]+)"
    first, last, factor = told(rf"L1 ball falls from ([\d.]+) to {shown}")
    balls = np.vstack([laplace("c", "ball"), laplace("d", "ball")])
    at = {round(np.log10(lam), 2): distance for lam, distance in balls}
    assert (first, last) == pytest.approx((at[4], at[6]), rel=0.02)
    assert factor == pytest.approx(at[4] / at[6], abs=0.05)
    [factor] = told(r"L2 ball falls by a factor of ([\d.]+)\.$")
    assert factor == pytest.approx(at[-2] / at[-4], abs=0.5)


def test_every_curve_of_shrinkage_has_its_name_in_its_panel(tmp_path):
    STUDIES["shrinkage"].draw(rows_of("shrinkage"), tmp_path / "figure.svg")
    texts = written(tmp_path / "figure.svg")
    curves = [
        name for _, name in dict.fromkeys((r["panel"], r["prior"]) for r in rows_of("shrinkage"))
    ]
    assert len(curves) == 3 + 8 + 8
    assert {name: texts.count(name) for name in curves} == {
        name: curves.count(name) for name in curves
    }
