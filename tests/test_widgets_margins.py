"""The explorer of margins shows what enumeration and Viterbi say; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import margins
from medn_edu.explorers.margins import Margins, margins_frame
from medn_edu.inference import Potentials, add_loss, best_labelling
from medn_edu.samples import pack
from medn_edu.theory.axi import text

SOME = [
    ("axi", 1.0, 0.3),
    ("axi", 1.0, 0.5),
    ("axi", 0.5, 0.8),
    ("xia", 1.5, 3.0),
    ("iax", 2.0, 1.1),
]
CHAIN = pack([np.zeros((3, 1))])


@pytest.fixture(scope="module")
def explorer():
    return margins()


def test_lessons(explorer):
    assert len(explorer.lessons) == 3
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(explorer):
    jumps, falls_behind, scales = explorer.lessons
    assert not jumps.holds("axi", 0.4, 1.0)
    assert not jumps.holds("axi", 0.5, 0.75)
    assert not falls_behind.holds("axi", 0.8, 1.0)
    assert not falls_behind.holds("axi", 0.2, 0.5)
    assert not scales.holds("axi", 1.0, 1.25)
    assert not scales.holds("axi", 2.0, 2.0)


@pytest.mark.parametrize(("word", "ink", "habit"), SOME)
def test_paths_are_those_of_viterbi(word, ink, habit):
    frame = margins_frame(word, ink, habit)
    for node, rows, scores in (
        (frame.node, frame.best, frame.scores),
        (add_loss(frame.node, frame.word.true), frame.augmented, frame.scores + frame.word.losses),
    ):
        path, (score,) = best_labelling(Potentials(CHAIN, node, frame.edge[None]))
        assert path.tolist() in frame.word.labellings[rows].tolist()
        np.testing.assert_allclose(scores[rows], score, atol=1e-12)
    assert frame.hinge == pytest.approx(score - frame.scores[frame.word.true_row])
    np.testing.assert_allclose(frame.margins, frame.word.differences @ frame.w, atol=1e-9)


@pytest.mark.parametrize(("word", "ink", "habit"), SOME)
def test_figure_shows_the_frame(word, ink, habit):
    drawn, frame = Margins(), margins_frame(word, ink, habit)
    drawn.show(frame)
    for line, rows in ((drawn._best, frame.best), (drawn._augmented, frame.augmented)):
        paths = line.get_ydata().reshape(len(rows), 4)
        assert [text(path[:3].astype(int)) for path in paths] == [
            text(frame.word.labellings[row]) for row in rows
        ]
    assert [float(value.get_text()) for value in drawn._values] == frame.node.ravel().tolist()
    assert [name.get_text() for name in drawn._names] == [
        text(frame.word.labellings[row]) for row in frame.others
    ]
    short = drawn._short.get_ydata()
    assert len(short) == frame.n_short
    gaps = np.array([np.ptp(gap[:, 1]) for gap in drawn._gaps.get_segments()])
    assert gaps.max(initial=0.0) == pytest.approx(frame.hinge)
    assert (gaps > 0).sum() == frame.n_short
    n_shown = sum(len(line.get_xdata()) for line in (drawn._fine, drawn._short, drawn._above))
    assert n_shown == 26


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


def test_invalid_values_are_refused(explorer):
    with pytest.raises(ValueError, match="no word 'xai'; expected axi, xia, iax"):
        margins_frame("xai", 1.0, 1.0)
    with pytest.raises(ValueError, match="'xai' is not a choice"):
        explorer.set(word="xai")
