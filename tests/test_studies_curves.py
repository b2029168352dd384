"""Studies without fits: the table holds what the formulas give, and the figure comes from it."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from making import make
from optimality import assert_nearest_in_ball, assert_touches
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from medn_edu import __version__
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.registry import STUDIES
from medn_edu.theory import kl_norm
from medn_edu.theory.laplace import bound_by_quadrature, q_density
from medn_edu.theory.projection import project_l1_ball

FIGURES = Path(__file__).resolve().parent.parent / "figures"

CURVES = [name for name, study in STUDIES.items() if not study.scaled]


def rows_of(name):
    study = STUDIES[name]
    return [row for spec in study.fits("paper", 0) for row in study.fit(spec)]


@pytest.mark.parametrize("name", CURVES)
def test_a_study_saves_table_figure_and_caption(name, tmp_path):
    study = STUDIES[name]
    for run in ("first", "second"):
        make(study, tmp_path / run)
    for file in ("results.csv", "figure.png"):
        first, second = ((tmp_path / run / file).read_bytes() for run in ("first", "second"))
        assert first == second
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        "caption.md", "results.csv", "timings.csv", "figure.png",
    }  # fmt: skip
    caption = (tmp_path / "first" / "caption.md").read_text(encoding="utf-8")
    assert f"Made by `medn-edu reproduce {name}`, medn_edu {__version__}," in " ".join(
        caption.split()
    )
    table = read_csv((tmp_path / "first" / "results.csv").read_text("utf-8"), exact=True)
    assert len(table) == len(rows_of(name))
    study.draw(table, tmp_path / "again.png")
    assert (tmp_path / "again.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", CURVES)
def test_the_committed_table_is_what_the_command_makes(name):
    rows = rows_of(name)
    committed = read_csv((FIGURES / f"{name}.csv").read_text(encoding="utf-8"))
    made = read_csv(csv_text(rows, STUDIES[name].columns))
    assert [list(row) for row in committed[:1]] == [list(STUDIES[name].columns)]
    assert len(committed) == len(made)
    for old, new in zip(committed, made, strict=True):
        for column, value in new.items():
            if value is None or isinstance(value, str):
                assert old[column] == value
            else:
                assert old[column] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (FIGURES / f"{name}.png").stat().st_size > 10_000
    caption = " ".join((FIGURES / f"{name}.md").read_text(encoding="utf-8").split())
    assert caption.startswith(STUDIES[name].report([], "").caption.replace("  ", " "))


def test_shrinkage_obeys_corollary_7():
    rows = [row for row in rows_of("shrinkage") if row["panel"] == "Fig. 1"]
    for lam in (4, 6):
        curve = [(r["eta"], r["mean"]) for r in rows if r["prior"] == f"Laplace, λ = {lam}"]
        eta, mean = np.array(curve).T
        np.testing.assert_allclose(mean, 2 * eta / (lam - eta**2))
        assert np.ptp(eta) == pytest.approx(2 * np.sqrt(lam), rel=1e-3)
    assert {row["mean"] - row["eta"] for row in rows if row["prior"].startswith("Gaussian")} == {0}


@pytest.fixture(scope="module")
def norm_rows():
    return rows_of("kl-norm")


def points(rows, names=("w1", "w2"), **wanted):
    chosen = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return np.array([[row[name] for name in names] for row in chosen])


def test_balls_pass_through_1_at_equal_kl_norm(norm_rows):
    for lam in (4, 36, 400, 10_000):
        ball = points(norm_rows, panel="b", lam=lam)
        assert len(ball) > 100
        np.testing.assert_allclose(
            [kl_norm(w, lam) for w in ball], kl_norm((0, 1), lam), rtol=1e-12
        )
        assert np.abs(ball - [0, 1]).max(axis=1).min() < 1e-12
    solid = points(norm_rows, ("w1", "w2", "w3"), panel="f", lam=400.0)
    assert len(solid) == 31 * 61
    np.testing.assert_allclose([kl_norm(w, 400) for w in solid], kl_norm((0, 0, 1), 400))


@pytest.mark.parametrize("lam", [4, 36, 400])
def test_lines_touch_balls(norm_rows, lam):
    [touched] = points(norm_rows, panel="d", lam=lam)
    across = np.array([np.cos(np.pi / 3), np.sin(np.pi / 3)])
    assert_touches(lambda w: kl_norm(w, lam), touched, across)
    assert kl_norm(touched, lam) == pytest.approx(kl_norm((0, 1), lam), rel=1e-9)


def test_sparse_and_pseudo_sparse(norm_rows):
    assert points(norm_rows, panel="d", norm="L1").tolist() == [[0, 1]]
    lam, smaller = points(norm_rows, ("lam", "w1"), panel="e").T
    assert (smaller > 0).all()
    assert (np.diff(smaller) < 0).all()
    # While the larger weight's slope is near its end, sqrt(lam), the smaller has 2 c / (lam - c²).
    share = 1 / np.tan(np.pi / 3)
    far = lam >= 1e5
    expected = 2 * share / (1 - share**2) / np.sqrt(lam[far])
    np.testing.assert_allclose(smaller[far], expected, rtol=0.01)
    assert smaller[0] == pytest.approx(0.5, rel=0.02)


# -- projections ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def projection_rows():
    return rows_of("projections")


@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_projections_are_the_nearest_points(projection_rows, name):
    [point] = points(projection_rows, ("x", "y"), panel="a", what="point", of=name)
    for norm in ("L1", "L2"):
        [drawn] = points(projection_rows, ("x", "y"), panel="a", what=f"on {norm}", of=name)
        assert_nearest_in_ball(drawn, point, norm)
        becomes_zero = norm == "L1" and name != "p1"
        assert (drawn == 0).sum() == becomes_zero


def test_boundaries_part_the_plane(projection_rows):
    for k, of in ((1, "w2 = 0"), (0, "w1 = 0")):
        boundary = points(projection_rows, ("x", "y"), panel="a", what="boundary", of=of)
        for share in (0.2, 1.0):
            between = boundary[0] + share * (boundary[1] - boundary[0])
            step = 1e-6 * np.eye(2)[k]
            assert project_l1_ball(between - step, 1.0)[k] == 0
            assert project_l1_ball(between + step, 1.0)[k] > 0


def vertices(norm, radius, n):
    """Points of a ball among which one is farthest in each direction (L2: nearly)."""
    if norm == "L1":
        return radius * np.vstack([np.eye(n), -np.eye(n)])
    turn = np.linspace(0, 2 * np.pi, 721)
    return radius * np.column_stack([np.cos(turn), np.sin(turn)])


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_paths_are_projections_onto_shrinking_balls(projection_rows, norm, name):
    path = points(projection_rows, ("x", "y"), panel="b", what=f"on {norm}", of=name)
    sizes = np.linalg.norm(path, ord=int(norm[1]), axis=1)
    assert (np.diff(sizes) < 0).all()
    assert sizes[-1] == 0
    for w, radius in zip(path, sizes, strict=True):  # no point of the ball is nearer
        assert np.max((vertices(norm, radius, 2) - w) @ (path[0] - w)) < 1e-9
    assert bool((path[:-1] == 0).any()) == (norm == "L1")


def test_many_weights_lose_an_amount_or_a_factor(projection_rows):
    before, on_l1, on_l2 = (
        points(projection_rows, ("y",), panel="c", what=what)[:, 0]
        for what in ("weights", "on L1", "on L2")
    )
    assert (np.diff(before) < 0).all()
    np.testing.assert_allclose(on_l2, before / 2)
    assert on_l1.sum() == pytest.approx(before.sum() / 2)
    corners = vertices("L1", on_l1.sum(), len(before))
    assert np.max((corners - on_l1) @ (before - on_l1)) < 1e-9
    assert 0 < (on_l1 == 0).sum() < len(before)


# -- laplace --------------------------------------------------------------------------------------


XY = ("x", "y")


@pytest.fixture(scope="module")
def laplace_rows():
    return rows_of("laplace")


def told(pattern):
    """Numbers in a caption, found by the words around them."""
    return [
        float(number)
        for number in re.search(pattern, STUDIES["laplace"].report([], "").caption).groups()
    ]


def test_bells_make_a_laplace_density(laplace_rows):
    [density] = [points(laplace_rows, XY, panel="a", what="density", of="λ = 4")]
    w, exact = density.T
    np.testing.assert_allclose(exact, stats.laplace(scale=1 / 2).pdf(w), rtol=1e-12)
    shares = points(laplace_rows, XY, panel="a", what="share")
    bells = points(laplace_rows, XY, panel="a", what="bell").reshape(-1, len(w), 2)
    for (tau, share), bell in zip(shares, bells, strict=True):
        assert share == pytest.approx(stats.expon(scale=1 / 2).pdf(tau) * tau * np.log(4))
        np.testing.assert_allclose(
            bell.T, [w, share * stats.norm(0, np.sqrt(tau)).pdf(w)], atol=1e-12
        )

    def missing(w):
        bells = stats.norm(0, np.sqrt(shares[:, 0])).pdf(np.asarray(w)[..., None])
        return stats.laplace(scale=1 / 2).pdf(w) - bells @ shares[:, 1]

    [percent] = told(r"together ([\d.]+) %")
    assert percent == pytest.approx(100 * shares[:, 1].sum(), abs=0.05)
    near, off, lacking = told(r"\|w\| ≥ ([\d.]+) .* within ([\d.]+) of .* lack ([\d.]+) %")
    assert lacking == pytest.approx(100 * missing(0.0), abs=0.05)
    beside = np.abs(missing(np.linspace(near, 40, 4000))).max()
    assert 0.9 * off < beside < off + 5e-5


@pytest.mark.parametrize(("mean", "variance"), [(0, 0.25), (1, 0.5), (1, 0.05)])
def test_gaps_are_bound_less_divergence(laplace_rows, mean, variance):
    of = f"μ = {mean}, σ² = {variance}"
    tau, gap = points(laplace_rows, XY, panel="b", what="gap", of=of).T
    p, prior = stats.norm(mean, np.sqrt(variance)), stats.laplace(scale=1 / 2)
    ends = (mean - 12 * p.std(), 0, mean + 12 * p.std())
    kl = sum(
        quad(lambda w: p.pdf(w) * (p.logpdf(w) - prior.logpdf(w)), *side, epsabs=1e-12)[0]
        for side in pairwise(ends)
        if side[0] < side[1]
    )
    for k in range(0, len(tau), 20):
        bound = bound_by_quadrature(
            mean, variance, 4.0, lambda t, at=tau[k]: np.log(q_density(t, 4 * at**2, 4.0))
        )
        assert gap[k] == pytest.approx(bound - kl, abs=1e-7)
    least, of_bound, of_kl = (
        points(laplace_rows, XY, panel="b", what=what, of=of)[0]
        for what in ("least gap", "least bound", "KL")
    )
    assert least[0] == pytest.approx(np.sqrt((mean**2 + variance) / 4))
    assert of_kl[1] == pytest.approx(kl, abs=1e-9)
    assert least[1] == pytest.approx(of_bound[1] - of_kl[1])
    assert 0 < least[1] < gap.min()
    rises = np.diff(gap) > 0
    assert rises.tolist() == sorted(rises), "down to one minimum, and up"
    assert abs(np.log(tau[gap.argmin()] / least[0])) <= np.log(tau[1] / tau[0])


def test_the_caption_tells_the_shaded_gap(laplace_rows):
    mean, variance, *found = told(
        r"Shaded for μ = ([\d.]+), σ² = ([\d.]+), .* bound is ([\d.]+) .* divergence ([\d.]+):"
        r" the darker part, ([\d.]+),"
    )
    of = f"μ = {mean:g}, σ² = {variance:g}"
    for what, number in zip(("least bound", "KL", "least gap"), found, strict=True):
        [[_, value]] = points(laplace_rows, XY, what=what, of=of)
        assert number == pytest.approx(value, abs=0.005)


def at_45_degrees(lam):
    """How far the KL ball through (0, 1) reaches there."""
    level = kl_norm((0, 1), lam)
    return brentq(lambda r: kl_norm((r / 2**0.5, r / 2**0.5), lam) - level, 0.1, 2, xtol=1e-15)


def test_to_the_l1_norm_like_log_lam_by_root_lam(laplace_rows):
    lam, error = points(laplace_rows, XY, panel="c", what="norm").T
    direct = [1.5 - kl_norm((1, -0.5), value) for value in lam]
    np.testing.assert_allclose(error, direct, atol=1e-12)
    ball = points(laplace_rows, XY, panel="c", what="ball")[:, 1]
    reach = np.array([at_45_degrees(value) for value in lam])
    assert (ball >= reach - 2**-0.5 - 1e-9).all()
    assert (ball <= 1.2 * (reach - 2**-0.5)).all()
    rate, slower = (
        points(laplace_rows, XY, panel="c", what="rate", of=of)[:, 1]
        for of in ("log λ / √λ", "1 / √λ")
    )
    np.testing.assert_allclose([rate, slower], [np.log(lam) / lam**0.5, lam**-0.5])
    for curve in (error, ball):  # from a million to a hundred millions
        along, across = ((curve / guide)[-1] / (curve / guide)[-9] for guide in (rate, slower))
        assert along == pytest.approx(1, abs=0.1)
        assert across > 1.3


def test_to_the_l2_norm_like_lam(laplace_rows):
    lam, error = points(laplace_rows, XY, panel="d", what="norm").T
    ball = points(laplace_rows, XY, panel="d", what="ball")[:, 1]
    assert (points(laplace_rows, XY, panel="d", what="rate")[:, 1] == lam).all()
    for value, share in list(zip(lam, error, strict=True))[8:]:  # below, kl_norm loses digits
        rise = kl_norm((1, -0.5), value) - 2 / value**0.5
        assert share == pytest.approx(1 - rise / (value**0.5 * 1.25 / 4), abs=1e-9)
    reach = np.array([at_45_degrees(value) for value in lam])
    np.testing.assert_allclose(ball, 1 - reach, rtol=1e-3, atol=1e-9)
    for curve in (error, ball):
        slopes = np.diff(np.log(curve)) / np.diff(np.log(lam))
        np.testing.assert_allclose(slopes[lam[1:] < 0.01], 1, atol=0.01)
        assert slopes[-1] < 0.8


def test_the_caption_tells_both_rates(laplace_rows):
    shown = r"([\d.]+), by a factor of ([\d.]+)"
    first, last, factor = told(rf"L1 ball falls from ([\d.]+) to {shown}")
    on_l1, on_l2 = (dict(points(laplace_rows, XY, panel=p, what="ball")) for p in "cd")
    at = {round(np.log10(lam), 2): distance for lam, distance in {**on_l1, **on_l2}.items()}
    assert (first, last) == pytest.approx((at[4], at[6]), rel=0.02)
    assert factor == pytest.approx(at[4] / at[6], abs=0.05)
    [factor] = told(r"L2 ball falls by a factor of ([\d.]+)\.$")
    assert factor == pytest.approx(at[-2] / at[-4], abs=0.5)
