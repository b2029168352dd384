"""The explorer of two losses shows what theory says; its lessons can fail."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from medn_edu.explorers import losses
from medn_edu.explorers.losses import SHOWN, WEIGHTS, losses_frame, with_minus
from medn_edu.theory.axi import AXI, labelling_scores, text

POSITIONS = list(itertools.product((0.5, 0.75, 1.25, 2.0), (-1.0, 0.0, 0.5, 1.15, 3.0)))


@pytest.fixture(scope="module")
def explorer():
    return losses()


def test_lessons_can_fail(explorer):
    only_one_is_zero, jumps, waits = explorer.lessons
    assert not only_one_is_zero.holds(0.95, 1.0)
    assert not only_one_is_zero.holds(1.5, 0.5)
    assert not jumps.holds(0.55, 0.75)
    assert not jumps.holds(1.0, 1.0)
    assert not waits.holds(1.5, 0.75)
    assert not waits.holds(0.2, 0.5)


def test_frame_against_enumeration():
    for ink, habit in POSITIONS:
        frame, scores = losses_frame(ink, habit), labelling_scores(AXI, [ink, habit])
        true = scores[AXI.true_row]
        assert frame.log_loss == pytest.approx(logsumexp(scores) - true)
        assert frame.hinge == pytest.approx((AXI.losses + scores).max() - true)
        np.testing.assert_allclose(frame.probabilities, softmax(scores), atol=1e-12)
        for t, label in np.ndindex(3, 3):
            has = AXI.labellings[:, t] == label
            assert frame.marginals[t, label] == pytest.approx(frame.probabilities[has].sum())
        assert np.interp(habit, WEIGHTS, frame.curves.hinge) == pytest.approx(frame.hinge)
        assert np.interp(habit, WEIGHTS, frame.curves.log_loss) == pytest.approx(frame.log_loss)


def test_slopes_are_those_of_the_losses():
    for ink, habit in POSITIONS:
        here, left, right = (losses_frame(ink, habit + step) for step in (0, -1e-6, 1e-6))
        slope = (right.log_loss - left.log_loss) / 2e-6
        assert slope == pytest.approx(here.log_slope, abs=1e-5)
        low, high = here.hinge_slopes
        assert (here.hinge - left.hinge) / 1e-6 == pytest.approx(low, abs=1e-5)
        assert (right.hinge - here.hinge) / 1e-6 == pytest.approx(high, abs=1e-5)


def test_losses_bound_the_error():
    for ink in np.arange(0.5, 2.01, 0.25):
        curves = losses_frame(ink, 0.0).curves
        assert np.all(curves.hinge >= curves.wrong - 1e-9)
        assert np.all(curves.log_loss >= np.log(2) * (curves.wrong > 0) - 1e-9)


def test_the_hinge_has_a_row_of_its_own_everywhere(explorer):
    inks, habits = (explorer.controls[name].values for name in ("ink", "habit"))
    assert all(losses_frame(w1, w2).suppliers[0] in SHOWN for w1 in inks for w2 in habits[::4])


def test_the_figure_and_its_words_show_the_frame(explorer):
    shown = explorer.set(ink=0.75, habit=0.5).frame()
    frame = losses_frame(0.75, 0.5)
    curves, p, violation, marginals = explorer.figure.axes
    expected = (frame.curves.wrong, frame.curves.log_loss, frame.curves.hinge)
    for line, values in zip(curves.lines[:3], expected, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert sum(bar.get_width() for bar in p.patches) == pytest.approx(1.0)
    names = [text(labels) for labels in AXI.labellings]
    widths = [bar.get_width() for bar in violation.patches[:-1]]
    np.testing.assert_allclose(widths, frame.violations[[names.index(name) for name in SHOWN]])
    bold = [t.get_text() for t in violation.texts if t.get_fontweight() == "bold"]
    assert bold == ["0.75", "0.75"]
    cells = [float(t.get_text()) for t in marginals.texts]
    np.testing.assert_allclose(cells, frame.marginals.ravel(), atol=5e-3)
    assert shown.summary == (
        "Weights ink 0.75, habit 0.50: log-loss 1.22, slope \u22121.08, p(axi) 0.29; hinge 0.75, "
        "slope \u22122 before and \u22121 after, from aai and aax; 0 of 3 letters wrong."
    )
    assert "1.22 and 0.75" in shown.alt
    assert with_minus(-0.004) == "0.00"
