"""The explorer of the temperature says what soft-max and inference say; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import softening
from medn_edu.explorers.softening import HABITS, SHOWN, TEMPERATURES, softening_frame
from medn_edu.theory.axi import AXI, HABIT
from medn_edu.theory.reference import Tree, log_partition, marginals, score


@pytest.fixture(scope="module")
def explorer():
    return softening()


def tree(habit, *, with_loss):
    node = AXI.ink + with_loss * (AXI.true[:, None] != np.arange(3))
    return Tree(node, habit * HABIT[None], np.array([-1, 0, 1]), np.zeros(3, dtype=int))


def test_lessons_can_fail(explorer):
    sharpens, ties, log_loss = explorer.lessons
    assert not sharpens.holds(2.0, 2.0, True)
    assert not ties.holds(0.0, 0.5, True)
    assert not ties.holds(0.5, 1.0, True)
    assert not log_loss.holds(0.5, 2.0, False)
    assert not log_loss.holds(1.0, 2.0, True)


@pytest.mark.parametrize("with_loss", [False, True])
def test_soft_max_and_marginals_are_those_of_inference(with_loss):
    potentials = tree(1.25, with_loss=with_loss)
    true_score = score(tree(1.25, with_loss=False), AXI.true)
    for epsilon in (2.0, 0.5, 1 / 64):
        frame = softening_frame(epsilon, 1.25, with_loss)
        expected = log_partition(potentials, epsilon) - true_score
        assert frame.loss == pytest.approx(expected, abs=1e-12)
        assert np.interp(1.25, HABITS, frame.curve) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(frame.marginals, marginals(potentials, epsilon)[0], atol=1e-12)
        slope = (softening_frame(epsilon + 1e-5, 1.25, with_loss).loss - frame.loss) / 1e-5
        assert frame.entropy == pytest.approx(slope, abs=1e-3)


def test_zero_is_the_limit():
    for habit in (0.0, 0.5, 1.0, 2.0):
        cold, hard = softening_frame(1e-3, habit), softening_frame(0.0, habit)
        np.testing.assert_allclose(cold.probabilities, hard.probabilities, atol=1e-12)
        assert hard.gap == hard.bound == 0


def test_figure_shows_the_frame(explorer):
    frame = softening_frame(0.5, 1.25, with_loss=False)
    explorer.set(epsilon=0.5, habit=1.25, with_loss=False).frame()
    left = explorer.figure.axes[0]
    assert any(np.array_equal(line.get_ydata(), frame.curve) for line in left.lines)
    ends = [line.get_xydata() for line in left.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(ends, [[[1.25, frame.hard_loss], [1.25, frame.loss]]])
    texts = {text.get_text() for ax in explorer.figure.axes for text in ax.texts}
    shown = [*frame.marginals.ravel(), *map(frame.probability, SHOWN)]
    assert {f"gap {frame.gap:.2f}", *(f"{p:.2f}" for p in shown)} <= texts


def test_summary_and_alternative_text(explorer):
    explorer.set(epsilon=1.0, habit=1.0, with_loss=True)
    frame = softening_frame(1.0, 1.0)
    assert f"soft-max {frame.loss:.2f}, maximum 0.00" in explorer.summary
    assert "at most ε log 27 = 3.30" in explorer.summary
    assert "with Hamming loss: the curve at ε = 1.000" in explorer.frame().alt


def test_time_runs_from_warm_to_cold(explorer):
    time = explorer.controls["epsilon"]
    assert time.kind == "time"
    assert time.values == TEMPERATURES == tuple(sorted(TEMPERATURES, reverse=True))
    assert TEMPERATURES[-1] == 0
    assert explorer.set(epsilon=0.51).values["epsilon"] == 0.5
    for value in (-0.1, 2.1, "cold"):
        with pytest.raises(ValueError, match=r"outside the slider; expected 0.0 to 2.0"):
            explorer.set(epsilon=value)
    with pytest.raises(ValueError, match="epsilon"):
        softening_frame(-1.0, 0.0)
