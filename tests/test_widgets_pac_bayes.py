"""The explorer of Theorem 8: its lessons hold, and its numbers are those of `theory.bounds`."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from medn_edu.explorers import pac_bayes_terms
from medn_edu.explorers.pac_bayes import BEST, DELTA, PAPERS, SIZES, Setting, terms_frame
from medn_edu.theory.bounds import MarginBound, MarginSample, theorem_8, theorem_8_m


@pytest.fixture(scope="module")
def explorer():
    return pac_bayes_terms()


def by_the_theorem(n: int, setting: Setting) -> MarginBound:
    """Return what `theorem_8` says: some margins at the threshold, all others far above."""
    at_most = round(setting.margin_loss * n)
    sample = MarginSample(
        np.array([setting.ratio, 2.0]), 1.0, setting.log_n_labellings, [at_most, n - at_most]
    )
    papers = theorem_8_m(sample, setting.divergence, setting.ratio)
    m = papers if setting.draws == PAPERS else None
    return theorem_8(sample, setting.divergence, delta=DELTA, gamma=setting.ratio, m=m)


def test_lessons_can_fail(explorer):
    draws_cost, square, logarithm, saves_little, saves_a_third = explorer.lessons
    start, digits = {**saves_little.move}, {**saves_a_third.move}
    assert not draws_cost.holds(**{**start, "n": 10**9, "ratio": 1.0, "divergence": 0.1})
    assert not square.holds(**{**start, "ratio": 1.0, "divergence": 0.1})
    assert not logarithm.holds(**{**start, "ratio": 1.0, "divergence": 0.1, "letters": 1})
    assert not saves_little.holds(**digits)
    assert not saves_a_third.holds(**start)


def test_what_the_best_m_saves_is_what_the_theorem_says(explorer):
    for lesson, low, high in ((explorer.lessons[3], 0.05, 0.07), (explorer.lessons[4], 1 / 3, 0.4)):
        given = [lesson.move[key] for key in ("divergence", "ratio", "letters", "loss")]
        papers, best = (terms_frame(100, Setting(*given, m)).speaks_from for m in (PAPERS, BEST))
        for n, m in ((papers, PAPERS), (best, BEST)):
            bound = by_the_theorem(n, Setting(*given, m))
            assert bound.value == pytest.approx(1, abs=1e-4)
        assert low < 1 - best / papers < high


def test_it_starts_with_bars_that_end_inside_the_axes(explorer):
    fresh = pac_bayes_terms().values
    setting = Setting(*(fresh[key] for key in ("divergence", "ratio", "letters", "loss", "m")))
    frame = terms_frame(fresh["n"], setting)
    assert 0.1 < sum(frame.inside) < frame.value < 1


@pytest.mark.parametrize("draws", [PAPERS, BEST])
def test_terms_are_the_theorems(draws):
    corners = itertools.product(
        (0.1, 1000.0), (0.01, 0.2, 1.0), (1, 14), (SIZES[0], 10_000, SIZES[-1])
    )
    for divergence, ratio, letters, n in corners:
        setting = Setting(divergence, ratio, letters, 0.25, draws)
        frame, bound = terms_frame(n, setting), by_the_theorem(n, setting)
        assert frame.value == pytest.approx(bound.value, rel=1e-9)
        assert frame.averaging == pytest.approx(bound.averaging, rel=1e-6)
        assert frame.root == pytest.approx(bound.complexity, rel=1e-6)
        assert frame.m == pytest.approx(bound.m, rel=1e-6)
        parts = np.array([bound.divergence, bound.sampling, bound.union, 2.0]) / (2 * n - 1)
        np.testing.assert_allclose(frame.inside, parts, rtol=1e-6)
        assert math.sqrt(sum(frame.inside)) == pytest.approx(frame.root)
        assert frame.curve[SIZES.index(n)] == pytest.approx(frame.value)


def test_where_it_begins_to_speak():
    for draws, ratio in itertools.product((PAPERS, BEST), (0.05, 1.0)):
        setting = Setting(3.0, ratio, 4, 0.0, draws)
        n = terms_frame(100, setting).speaks_from
        assert by_the_theorem(n, setting).value < 1 <= by_the_theorem(n - 1, setting).value


def test_it_says_its_numbers(explorer):
    explorer.set(n=10_000, divergence=10.0, ratio=0.1, letters=3, loss=0.05, m=PAPERS)
    bound = by_the_theorem(10_000, Setting(10.0, 0.1, 3, 0.05, PAPERS))
    assert "3 letters of 26, the paper's m: " in explorer.summary
    assert f"m = {bound.m:,};" in explorer.summary
    assert f"root {bound.complexity:.3g} = {bound.value:.3g}." in explorer.summary
    assert explorer.summary.endswith("Below 1 from N = 266,000 on.")
    assert f"the bound {bound.value:.3g}." in explorer.frame().alt


def test_n_is_the_time_and_reaches_a_billion(explorer):
    time = explorer.controls["n"]
    assert (time.kind, time.texts[0], time.texts[-1]) == ("time", "100", "1,000,000,000")


@pytest.mark.parametrize("m", [PAPERS, BEST])
def test_every_corner_is_drawn(explorer, m):
    seen = set()
    for n, (divergence, ratio) in itertools.product((100, 10**9), ((0.1, 1.0), (1000.0, 0.01))):
        explorer.set(n=n, divergence=divergence, ratio=ratio, letters=14, loss=0.5, m=m)
        seen.add(explorer.frame().png)
        assert "nan" not in explorer.summary + explorer.frame().alt
    assert len(seen) == 4


def test_bars_end_at_the_top_of_the_axes_or_at_their_sum(explorer):
    def heights():
        boxes = [patch for patch in explorer.figure.axes[0].patches if patch.get_width() == 0.55]
        return sum(b.get_height() for b in boxes[:4]), sum(b.get_height() for b in boxes[4:])

    explorer.set(n=10**9, divergence=10.0, ratio=0.1, letters=3, loss=0.05, m=BEST).frame()
    frame = terms_frame(10**9, Setting(10.0, 0.1, 3, 0.05, BEST))
    assert heights() == pytest.approx((sum(frame.inside), frame.value))
    explorer.set(n=100).frame()
    assert heights() == pytest.approx((1.6, 1.6))
