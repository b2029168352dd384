"""Explorers of losses, margins and the temperature show what enumeration and inference say."""

import itertools

import numpy as np
import pytest
from scipy.special import entr, logsumexp, softmax

from medn_edu.explorers import losses, margins, softening
from medn_edu.explorers.losses import SHOWN, WEIGHTS, losses_frame
from medn_edu.explorers.margins import margins_frame
from medn_edu.explorers.softening import HABITS, TEMPERATURES, softening_frame
from medn_edu.inference import Potentials, add_loss, best_labelling
from medn_edu.samples import pack
from medn_edu.theory.axi import AXI, HABIT, labelling_scores, text
from medn_edu.theory.reference import Tree, log_partition, marginals

CHAIN = pack([np.zeros((3, 1))])


def test_losses_and_their_slopes_against_enumeration():
    for ink, habit in itertools.product((0.5, 0.75, 1.25, 2.0), (-1.0, 0.0, 0.5, 1.15, 3.0)):
        frame, scores = losses_frame(ink, habit), labelling_scores(AXI, [ink, habit])
        true = scores[AXI.true_row]
        assert frame.log_loss == pytest.approx(logsumexp(scores) - true)
        assert frame.hinge == pytest.approx((AXI.losses + scores).max() - true)
        np.testing.assert_allclose(frame.probabilities, softmax(scores), atol=1e-12)
        np.testing.assert_allclose(frame.marginals, AXI.marginals(softmax(scores)), atol=1e-12)
        curves = frame.curves
        assert np.interp(habit, WEIGHTS, curves.hinge) == pytest.approx(frame.hinge)
        assert np.interp(habit, WEIGHTS, curves.log_loss) == pytest.approx(frame.log_loss)
        assert np.all(curves.hinge >= curves.wrong - 1e-9), "both bound the error"
        assert np.all(curves.log_loss >= np.log(2) * (curves.wrong > 0) - 1e-9)
        assert np.diff(curves.hinge, 2).min() > -1e-9, "both are convex"
        assert np.diff(curves.log_loss, 2).min() > 0
        left, right = (losses_frame(ink, habit + step) for step in (-1e-6, 1e-6))
        slopes = (frame.hinge - left.hinge) / 1e-6, (right.hinge - frame.hinge) / 1e-6
        assert slopes == pytest.approx(frame.hinge_slopes, abs=1e-5)
        slope = (right.log_loss - left.log_loss) / 2e-6
        assert slope == pytest.approx(frame.log_slope, abs=1e-5)


def test_with_a_faint_ink_the_log_loss_stops_where_labellings_have_as_much_habit():
    scores = labelling_scores(AXI, [0.5, 30.0])
    rivals = [text(y) for y in AXI.labellings[AXI.features[:, 1] == 2]]
    assert rivals == ["axi", "xia", "iax"]
    limit = np.log(1 + np.exp(-2) + np.exp(-3))
    assert logsumexp(scores) - scores[AXI.true_row] == pytest.approx(limit)


def test_losses_shows_the_frame():
    explorer, frame = losses().set(ink=0.75, habit=0.5), losses_frame(0.75, 0.5)
    assert explorer.summary == (
        "Weights ink 0.75, habit 0.50: log-loss 1.22, slope \u22121.08, p(axi) 0.29; hinge 0.75, "
        "slope \u22122 before and \u22121 after, from aai and aax; 0 of 3 letters wrong."
    )
    curves, p, violation, tiles = explorer.figure.axes
    expected = (frame.curves.wrong, frame.curves.log_loss, frame.curves.hinge)
    np.testing.assert_array_equal([line.get_ydata() for line in curves.lines[:3]], expected)
    slopes = [np.diff(line.get_ydata()) / np.diff(line.get_xdata()) for line in curves.lines[3:6]]
    assert np.ravel(slopes) == pytest.approx([frame.log_slope, *frame.hinge_slopes])
    said = {t.get_text() for t in curves.texts}
    assert said >= {"■ log-loss 1.22, slope \u22121.08", "● hinge 0.75, slope \u22122 to \u22121"}
    assert sum(bar.get_width() for bar in p.patches) == pytest.approx(1.0)
    names = [text(labels) for labels in AXI.labellings]
    widths = [bar.get_width() for bar in violation.patches[:-1]]
    np.testing.assert_allclose(widths, frame.violations[[names.index(name) for name in SHOWN]])
    bold = [t.get_text() for t in violation.texts if t.get_fontweight() == "bold"]
    assert bold == ["0.75", "0.75"]
    cells = [float(t.get_text()) for t in tiles.texts]
    np.testing.assert_allclose(cells, frame.marginals.ravel(), atol=5e-3)
    inks, habits = (explorer.controls[name].values for name in ("ink", "habit"))
    found = {losses_frame(*at).suppliers[0] for at in itertools.product(inks, habits[::4])}
    assert found <= set(SHOWN), "the hinge's labelling has a row everywhere"


@pytest.mark.parametrize(
    ("word", "ink", "habit"),
    [("axi", 1.0, 0.3), ("axi", 1.0, 0.5), ("axi", 0.5, 0.8), ("xia", 1.5, 3.0), ("iax", 2.0, 1.1)],
)
def test_paths_are_those_of_viterbi_and_shown(word, ink, habit):
    frame = margins_frame(word, ink, habit)
    explorer = margins().set(word=word, ink=ink, habit=habit)
    explorer.frame()
    left, right = explorer.figure.axes
    with_loss = add_loss(frame.node, frame.word.true)
    for node, rows, scores, line in (
        (frame.node, frame.best, frame.scores, left.lines[3]),
        (with_loss, frame.augmented, frame.scores + frame.word.losses, left.lines[2]),
    ):
        path, (score,) = best_labelling(Potentials(CHAIN, node, habit * HABIT[None]))
        assert path.tolist() in frame.word.labellings[rows].tolist()
        np.testing.assert_allclose(scores[rows], score, atol=1e-12)
        drawn = line.get_ydata().reshape(len(rows), 4)[:, :3]
        assert drawn.tolist() == frame.word.labellings[rows].tolist()
    assert frame.hinge == pytest.approx(score - frame.scores[frame.word.true_row])
    np.testing.assert_allclose(frame.margins, frame.word.differences @ frame.w, atol=1e-9)
    values = [float(value.get_text()) for value in left.texts[:18:2]]  # between them stand "+1"s
    assert values == frame.node.ravel().tolist()
    names = [name.get_text() for name in right.texts if name.get_rotation() == 90]
    assert names == [text(frame.word.labellings[row]) for row in frame.others]
    gaps = np.array([np.ptp(gap[:, 1]) for gap in right.collections[-1].get_segments()])
    assert gaps.max(initial=0.0) == pytest.approx(frame.hinge)
    fine, short, above = (len(line.get_xdata()) for line in right.lines[4:7])  # after the levels
    assert short == (gaps > 0).sum() == frame.n_short
    assert fine + short + above == 26


def test_margins_says_the_solution_and_what_habit_cannot_do():
    explorer = margins().set(word="axi", habit=1.0, ink=1.0)
    assert explorer.summary == (
        "axi with w = (1.00, 1.00): best path axi, score 9.00; with the loss added aax or aai or axi, "
        "9.00; smallest margin 1.00 (aai); all 26 margins reach their loss, hinge 0.00."
    )
    for habit in (0.5, 1.0, 3.0):
        said = explorer.set(word="iax", habit=habit).summary
        assert "best path iax" in said
        assert said.endswith("hinge 2.00.")
    with pytest.raises(ValueError, match="no word 'xai'; expected axi, xia, iax"):
        margins_frame("xai", 1.0, 1.0)


@pytest.mark.parametrize("with_loss", [False, True])
def test_soft_max_and_marginals_are_those_of_inference(with_loss):
    node = AXI.ink + with_loss * (AXI.true[:, None] != np.arange(3))
    tree = Tree(node, 1.25 * HABIT[None], np.array([-1, 0, 1]), np.zeros(3, dtype=int))
    for epsilon in (2.0, 0.5, 1 / 64):
        frame = softening_frame(epsilon, 1.25, with_loss)
        true_score = labelling_scores(AXI, [1.0, 1.25])[AXI.true_row]
        expected = log_partition(tree, epsilon) - true_score
        assert frame.loss == pytest.approx(expected, abs=1e-12)
        assert np.interp(1.25, HABITS, frame.curve) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(frame.marginals, marginals(tree, epsilon)[0], atol=1e-12)
        slope = (softening_frame(epsilon + 1e-5, 1.25, with_loss).loss - frame.loss) / 1e-5
        assert frame.entropy == pytest.approx(slope, abs=1e-3)


def test_softening_shows_the_frame_and_time_runs_from_cold_to_warm():
    frame = softening_frame(0.5, 1.25, with_loss=False)
    explorer = softening().set(epsilon=0.51, habit=1.25, with_loss=False)
    assert f"with an excess of {frame.gap:.2f} at habit 1.25." in explorer.frame().alt
    left = explorer.figure.axes[0]
    assert any(np.array_equal(line.get_ydata(), frame.curve) for line in left.lines)
    ends = [line.get_xydata() for line in left.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(ends, [[[1.25, frame.hard_loss], [1.25, frame.loss]]])
    texts = {text.get_text() for ax in explorer.figure.axes for text in ax.texts}
    shown = [*frame.marginals.ravel(), *map(frame.probability, ("axi", "aai", "aax", "xai", "iax"))]
    assert {f"excess {frame.gap:.2f}", *(f"{p:.2f}" for p in shown)} <= texts
    said = explorer.set(epsilon=1.0, habit=1.0, with_loss=True).summary
    assert f"soft maximum {softening_frame(1.0, 1.0).loss:.2f}, maximum 0.00" in said
    assert "at most ε log 27 = 3.30" in said
    assert explorer.controls["epsilon"].values == tuple(sorted(TEMPERATURES))
    with pytest.raises(ValueError, match="epsilon"):
        softening_frame(-1.0, 0.0)


@pytest.mark.parametrize("epsilon", [2.0, 0.5, 1 / 64])
def test_the_soft_maximum_is_the_best_mean_with_a_reward_for_entropy(epsilon):
    """Hazan and Urtasun 2010, Eq. (6): any other distribution misses it by its divergence."""
    frame = softening_frame(epsilon, 0.5)
    scores = labelling_scores(AXI, [1.0, 0.5])
    violations = AXI.losses + scores - scores[AXI.true_row]
    for p in np.random.default_rng(0).dirichlet(np.full(27, 0.3), size=20):
        log_best = violations / epsilon - frame.loss / epsilon
        divergence = -entr(p).sum() - p @ log_best
        assert divergence >= 0
        reached = p @ violations + epsilon * entr(p).sum()
        assert frame.loss - reached == pytest.approx(epsilon * divergence, abs=1e-9)
    np.testing.assert_allclose(frame.probabilities, np.exp(log_best), atol=1e-12)


def test_the_hamming_loss_is_a_head_start_for_wrong_labellings():
    """Without features p is proportional to ``e^(+loss / epsilon)``."""
    head_start = softmax(AXI.losses / 0.5)
    assert head_start[AXI.true_row] == head_start.min()
    scores = labelling_scores(AXI, [1.0, 0.5])
    with_prior = head_start * softmax(scores / 0.5)
    p = softening_frame(0.5, 0.5).probabilities
    np.testing.assert_allclose(p, with_prior / with_prior.sum(), atol=1e-12)
