"""Studies without fits: the table holds what the formulas give, and the figure comes from it."""

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from making import make
from optimality import assert_nearest_in_ball, assert_touches
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from medn_edu.studies.kit.stored import stored_folder, stored_rows
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.registry import STUDIES
from medn_edu.theory import kl_norm
from medn_edu.theory.laplace import bound_by_quadrature, q_density
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


def test_shrinkage_obeys_corollary_7():
    for lam in (4, 6):
        of = {"panel": "Fig. 1", "prior": f"Laplace, λ = {lam}"}
        eta, mean = points("shrinkage", ("eta", "mean"), **of).T
        np.testing.assert_allclose(mean, 2 * eta / (lam - eta**2))
        assert np.ptp(eta) == pytest.approx(2 * np.sqrt(lam), rel=1e-3)
    rows = [row for row in rows_of("shrinkage") if row["panel"] == "Fig. 1"]
    assert {row["mean"] - row["eta"] for row in rows if row["prior"].startswith("Gaussian")} == {0}


def test_balls_pass_through_1_at_equal_kl_norm():
    for lam in (4, 36, 400, 10_000):
        ball = points("kl-norm", W, panel="b", lam=lam)
        assert len(ball) > 100
        found = [kl_norm(w, lam) for w in ball]
        np.testing.assert_allclose(found, kl_norm((0, 1), lam), rtol=1e-12)
        assert np.abs(ball - [0, 1]).max(axis=1).min() < 1e-12
    solid = points("kl-norm", ("w1", "w2", "w3"), panel="f", lam=400.0)
    assert len(solid) == 31 * 61
    np.testing.assert_allclose([kl_norm(w, 400) for w in solid], kl_norm((0, 0, 1), 400))


def test_where_lines_touch_balls_a_weight_is_zero_or_small():
    across = np.array([np.cos(np.pi / 3), np.sin(np.pi / 3)])
    for lam in (4, 36, 400):
        [touched] = points("kl-norm", W, panel="d", lam=lam)
        assert_touches(lambda w, lam=lam: kl_norm(w, lam), touched, across)
        assert kl_norm(touched, lam) == pytest.approx(kl_norm((0, 1), lam), rel=1e-9)
    assert points("kl-norm", W, panel="d", norm="L1").tolist() == [[0, 1]]
    lam, smaller = points("kl-norm", ("lam", "w1"), panel="e").T
    assert (smaller > 0).all()
    assert (np.diff(smaller) < 0).all()
    # While the larger weight's slope is near its end, sqrt(lam), the smaller has 2 c / (lam - c²).
    share = 1 / np.tan(np.pi / 3)
    far = lam >= 1e5
    expected = 2 * share / (1 - share**2) / np.sqrt(lam[far])
    np.testing.assert_allclose(smaller[far], expected, rtol=0.01)
    assert smaller[0] == pytest.approx(0.5, rel=0.02)


def vertices(norm, radius, n):
    """Points of a ball among which one is farthest in each direction (L2: nearly)."""
    if norm == "L1":
        return radius * np.vstack([np.eye(n), -np.eye(n)])
    turn = np.linspace(0, 2 * np.pi, 721)
    return radius * np.column_stack([np.cos(turn), np.sin(turn)])


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
    for w, radius in zip(path, sizes, strict=True):  # no point of the ball is nearer
        assert np.max((vertices(norm, radius, 2) - w) @ (path[0] - w)) < 1e-9
    assert bool((path[:-1] == 0).any()) == (norm == "L1")


def test_boundaries_part_the_plane():
    for k, of in ((1, "w2 = 0"), (0, "w1 = 0")):
        boundary = points("projections", XY, panel="a", what="boundary", of=of)
        for share in (0.2, 1.0):
            between = boundary[0] + share * (boundary[1] - boundary[0])
            step = 1e-6 * np.eye(2)[k]
            assert project_l1_ball(between - step, 1.0)[k] == 0
            assert project_l1_ball(between + step, 1.0)[k] > 0


def test_many_weights_lose_an_amount_or_a_factor():
    whats = ("weights", "on L1", "on L2")
    before, on_l1, on_l2 = (points("projections", XY, panel="c", what=w)[:, 1] for w in whats)
    assert (np.diff(before) < 0).all()
    np.testing.assert_allclose(on_l2, before / 2)
    assert on_l1.sum() == pytest.approx(before.sum() / 2)
    corners = vertices("L1", on_l1.sum(), len(before))
    assert np.max((corners - on_l1) @ (before - on_l1)) < 1e-9
    assert 0 < (on_l1 == 0).sum() < len(before)


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


@pytest.mark.parametrize(("mean", "variance"), [(0, 0.25), (1, 0.5), (1, 0.05)])
def test_gaps_are_bound_less_divergence(mean, variance):
    of = f"μ = {mean}, σ² = {variance}"
    tau, gap = laplace("b", "gap", of=of).T
    p, prior = stats.norm(mean, np.sqrt(variance)), stats.laplace(scale=1 / 2)
    ends = sorted({mean - 12 * p.std(), 0, mean + 12 * p.std()})
    kl = sum(
        quad(lambda w: p.pdf(w) * (p.logpdf(w) - prior.logpdf(w)), *side, epsabs=1e-12)[0]
        for side in pairwise(ends)
    )
    for k in range(0, len(tau), 20):
        bound = bound_by_quadrature(
            mean, variance, 4.0, lambda t, at=tau[k]: np.log(q_density(t, 4 * at**2, 4.0))
        )
        assert gap[k] == pytest.approx(bound - kl, abs=1e-7)
    whats = ("least gap", "least bound", "KL")
    least, of_bound, of_kl = (laplace("b", what, of=of)[0] for what in whats)
    assert least[0] == pytest.approx(np.sqrt((mean**2 + variance) / 4))
    assert of_kl[1] == pytest.approx(kl, abs=1e-9)
    assert least[1] == pytest.approx(of_bound[1] - of_kl[1])
    assert 0 < least[1] < gap.min()
    rises = np.diff(gap) > 0
    assert rises.tolist() == sorted(rises), "down to one minimum, and up"
    assert abs(np.log(tau[gap.argmin()] / least[0])) <= np.log(tau[1] / tau[0])


def test_the_caption_tells_the_shaded_gap():
    mean, variance, *found = told(
        r"Shaded for μ = ([\d.]+), σ² = ([\d.]+), .* bound is ([\d.]+) .* divergence ([\d.]+):"
        r" the darker part, ([\d.]+),"
    )
    of = f"μ = {mean:g}, σ² = {variance:g}"
    shown = [laplace("b", what, of=of)[0, 1] for what in ("least bound", "KL", "least gap")]
    assert found == pytest.approx(shown, abs=0.005)


def at_45_degrees(lam):
    """How far the KL ball through (0, 1) reaches there."""
    level = kl_norm((0, 1), lam)
    return brentq(lambda r: kl_norm((r / 2**0.5, r / 2**0.5), lam) - level, 0.1, 2, xtol=1e-15)


def test_to_the_l1_norm_like_log_lam_by_root_lam():
    lam, error = laplace("c", "norm").T
    direct = [1.5 - kl_norm((1, -0.5), value) for value in lam]
    np.testing.assert_allclose(error, direct, atol=1e-12)
    ball = laplace("c", "ball")[:, 1]
    reach = np.array([at_45_degrees(value) for value in lam])
    assert (ball >= reach - 2**-0.5 - 1e-9).all()
    assert (ball <= 1.2 * (reach - 2**-0.5)).all()
    rate, slower = (laplace("c", "rate", of=of)[:, 1] for of in ("log λ / √λ", "1 / √λ"))
    np.testing.assert_allclose([rate, slower], [np.log(lam) / lam**0.5, lam**-0.5])
    for curve in (error, ball):  # from a million to a hundred millions
        along, across = ((curve / guide)[-1] / (curve / guide)[-9] for guide in (rate, slower))
        assert along == pytest.approx(1, abs=0.1)
        assert across > 1.3


def test_to_the_l2_norm_like_lam():
    lam, error = laplace("d", "norm").T
    ball = laplace("d", "ball")[:, 1]
    assert (laplace("d", "rate")[:, 1] == lam).all()
    for value, share in list(zip(lam, error, strict=True))[8:]:  # below, kl_norm loses digits
        rise = kl_norm((1, -0.5), value) - 2 / value**0.5
        assert share == pytest.approx(1 - rise / (value**0.5 * 1.25 / 4), abs=1e-9)
    reach = np.array([at_45_degrees(value) for value in lam])
    np.testing.assert_allclose(ball, 1 - reach, rtol=1e-3, atol=1e-9)
    for curve in (error, ball):
        slopes = np.diff(np.log(curve)) / np.diff(np.log(lam))
        np.testing.assert_allclose(slopes[lam[1:] < 0.01], 1, atol=0.01)
        assert slopes[-1] < 0.8


def test_the_caption_tells_both_rates():
    shown = r"([\d.]+), by a factor of ([\d.]+)"
    first, last, factor = told(rf"L1 ball falls from ([\d.]+) to {shown}")
    balls = np.vstack([laplace("c", "ball"), laplace("d", "ball")])
    at = {round(np.log10(lam), 2): distance for lam, distance in balls}
    assert (first, last) == pytest.approx((at[4], at[6]), rel=0.02)
    assert factor == pytest.approx(at[4] / at[6], abs=0.05)
    [factor] = told(r"L2 ball falls by a factor of ([\d.]+)\.$")
    assert factor == pytest.approx(at[-2] / at[-4], abs=0.5)
