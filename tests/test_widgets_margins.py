"""The explorer of margins shows what enumeration and Viterbi say; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import margins
from medn_edu.explorers.margins import margins_frame
from medn_edu.inference import Potentials, add_loss, best_labelling
from medn_edu.samples import pack
from medn_edu.theory.axi import HABIT, text

CHAIN = pack([np.zeros((3, 1))])


@pytest.fixture(scope="module")
def explorer():
    return margins()


def test_lessons_can_fail(explorer):
    jumps, falls_behind, scales = explorer.lessons
    assert not jumps.holds("axi", 0.4, 1.0)
    assert not jumps.holds("axi", 0.5, 0.75)
    assert not falls_behind.holds("axi", 0.8, 1.0)
    assert not falls_behind.holds("axi", 0.2, 0.5)
    assert not scales.holds("axi", 1.0, 1.25)
    assert not scales.holds("axi", 2.0, 2.0)


@pytest.mark.parametrize(
    ("word", "ink", "habit"),
    [("axi", 1.0, 0.3), ("axi", 1.0, 0.5), ("axi", 0.5, 0.8), ("xia", 1.5, 3.0), ("iax", 2.0, 1.1)],
)
def test_paths_are_those_of_viterbi_and_shown(explorer, word, ink, habit):
    frame = margins_frame(word, ink, habit)
    explorer.set(word=word, ink=ink, habit=habit).frame()
    left, right = explorer.figure.axes
    with_loss = add_loss(frame.node, frame.word.true)
    paths = [(frame.node, frame.best, frame.scores, left.lines[3])]
    paths += [(with_loss, frame.augmented, frame.scores + frame.word.losses, left.lines[2])]
    for node, rows, scores, line in paths:
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
    assert (gaps > 0).sum() == frame.n_short
    fine, short, above = right.lines[4:7]  # after the levels
    assert len(short.get_ydata()) == frame.n_short
    assert sum(len(line.get_xdata()) for line in (fine, short, above)) == 26


def test_solution_of_the_training_problem_has_no_hinge(explorer):
    explorer.set(word="axi", habit=1.0, ink=1.0)
    frame = margins_frame("axi", 1.0, 1.0)
    assert frame.names(frame.augmented) == "aax or aai or axi"
    assert explorer.summary == (
        "axi with w = (1.00, 1.00): best path axi, score 9.00; with the loss added aax or aai or axi, "
        "9.00; smallest margin 1.00 (aai); none of the 26 margins is short of its loss, hinge 0.00."
    )
    assert explorer.frame().alt.endswith("none of the 26 margins is short of its loss, hinge 0.00.")


def test_habit_cannot_help_the_third_word(explorer):
    for habit in (0.5, 1.0, 3.0):
        explorer.set(word="iax", habit=habit, ink=1.0)
        assert "best path iax" in explorer.summary
        assert explorer.summary.endswith("hinge 2.00.")


def test_a_word_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no word 'xai'; expected axi, xia, iax"):
        margins_frame("xai", 1.0, 1.0)
