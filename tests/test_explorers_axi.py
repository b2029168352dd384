"""Pictures of the small script: terms of a score, Viterbi's cells, a training run of an M3N."""

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.text import Text

from medn_edu import results
from medn_edu.explorers import score_terms, training_film, viterbi_steps
from medn_edu.explorers.frank_wolfe import listed
from medn_edu.explorers.kit.explorer import CSS_DPI, NARROWEST, Explorer
from medn_edu.explorers.score_terms import terms_frame
from medn_edu.explorers.training_film import (
    CONSTANTS,
    N_PASSES,
    N_WORDS,
    film_problem,
    runners_up,
    samples,
    script,
    training_frames,
)
from medn_edu.explorers.viterbi_steps import LAST, N_CELLS, viterbi_table
from medn_edu.inference import Potentials, best_labelling, k_best, labelling_scores
from medn_edu.problems import Problem
from medn_edu.samples import pack
from medn_edu.solvers import block_frank_wolfe
from medn_edu.theory.axi import AXI, HABIT, text

WORD = pack([np.zeros((3, 1))])
NAMES = [text(labels) for labels in AXI.labellings]


def potentials(ink: float, habit: float) -> Potentials:
    return Potentials(WORD, ink * AXI.ink, habit * HABIT[None])


@pytest.mark.parametrize(("ink", "habit"), [(0.5, 0.8), (1.0, 1.0), (-0.5, 2.0), (1.5, -1.0)])
def test_terms_add_up_to_the_score(ink: float, habit: float) -> None:
    weights = np.array([ink] * 3 + [habit] * 2)
    for name, labels, features in zip(NAMES, AXI.labellings, AXI.features, strict=True):
        frame = terms_frame(name, ink, habit)
        (score,) = labelling_scores(potentials(ink, habit), labels)
        assert frame.sums[-1] == pytest.approx(score)
        np.testing.assert_array_equal([frame.counts[:3].sum(), frame.counts[3:].sum()], features)
        np.testing.assert_allclose(frame.terms, weights * frame.counts)
        assert np.max(frame.scores) == pytest.approx(best_labelling(potentials(ink, habit))[1][0])


def test_score_terms_shows_the_terms() -> None:
    explorer = score_terms().set(terms=4, first="a", second="a", third="x", ink=0.5, habit=0.8)
    assert explorer.summary == (
        "The labelling aax: ink 6 × 0.5 + habit 1 × 0.8 = 3.8, 3.0 after 4 of 5 terms; best of 27 is "
        "axi with 5.1."
    )
    left, right = explorer.figure.axes
    *bars, total, best = right.patches
    assert [bar.get_visible() for bar in bars] == [True] * 4 + [False]
    ends = [0.0]
    for bar in bars[:4]:
        assert bar.get_x() == pytest.approx(ends[-1]), "each begins where the last one ends"
        ends.append(bar.get_x() + bar.get_width())
    assert total.get_width() == pytest.approx(ends[-1])
    assert best.get_width() == pytest.approx(5.1)
    assert {"3 × 0.5", "2 × 0.5", "1 × 0.5", "0 × 0.8", "1 × 0.8"} <= {
        t.get_text() for t in left.texts
    }


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (score_terms, {"ink": 1.5, "habit": 2.0}),
        (score_terms, {"ink": -0.5, "habit": -1.0}),
        (viterbi_steps, {"step": 7}),
        (training_film, {"passes": 5}),
    ],
)
def test_words_in_a_narrow_picture_stand_apart_and_inside(
    make: Callable[[], Explorer], values: dict[str, float]
) -> None:
    explorer = make().set(**values)
    figure = explorer.figure
    width = NARROWEST * CSS_DPI * figure.get_figwidth()
    explorer._fit({"width": width, "ratio": 1.0})  # noqa: SLF001
    explorer.frame()
    every = [text for text in figure.findobj(Text) if text.get_visible()]
    shown = [text for text in every if re.search("[^\\W\\d]", text.get_text())]  # no ticks' numbers
    boxes = [text.get_window_extent() for text in shown]
    names = [text.get_text() for text in shown]
    for (one, a), (other, b) in itertools.combinations(zip(names, boxes, strict=True), 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        staggered = one.startswith("\n") != other.startswith("\n")
        assert staggered or wide < 1 or high < 3, (one, other)
    for name, box in zip(names, boxes, strict=True):
        assert -1 <= box.x0 < box.x1 <= figure.bbox.x1 + 1, name


@pytest.mark.parametrize(("ink", "habit"), [(1.0, 1.0), (1.0, 0.3), (0.5, 0.0), (1.4, 0.7)])
def test_paths_that_lose_are_those_with_a_better_rival(ink: float, habit: float) -> None:
    table = viterbi_table(ink, habit)
    every = [table.alive(step) for step in range(LAST + 1)]
    assert [alive.sum() for alive in every] == [27] * 4 + [21, 15, 9, 7, 5, 3] + [1] * 3
    for before, after in itertools.pairwise(every):
        assert not (after & ~before).any(), "what has lost never comes back"
    path, (score,) = best_labelling(potentials(ink, habit))
    (last,) = table.scores[every[-1]]
    assert last == pytest.approx(score) == pytest.approx(table.scores.max())
    if np.sum(table.scores > score - 1e-9) == 1:
        assert table.path == path.tolist()
    scores = potentials(ink, habit)
    for t, label in np.ndindex(3, 3):  # by enumeration of what leads to the cell
        ways = AXI.labellings[AXI.labellings[:, t] == label][:, : t + 1]
        part = Potentials(pack([np.zeros((t + 1, 1))]), scores.node[: t + 1], scores.edge)
        assert table.best[t, label] == pytest.approx(
            max(labelling_scores(part, y)[0] for y in ways)
        )


def test_viterbi_steps_shows_the_table_of_the_notebook() -> None:
    explorer = viterbi_steps().set(step=N_CELLS, ink=1.0, habit=1.0)
    explorer.frame()
    left, right = explorer.figure.axes
    shown = [float(value.get_text()) for value in right.texts[:9]]
    np.testing.assert_array_equal(np.reshape(shown, (3, 3)), [[3, 1, 0], [5, 5, 3], [5, 7, 9]])
    assert explorer.summary.endswith("from x; 3 of 27 paths can still be the best.")
    explorer.set(step=7).frame()
    [said] = [value.get_text() for value in right.texts if value.get_text().startswith("V =")]
    assert said == "V = 0.0 + max(5.0, 5.0, 4.0)\n= 5.0, from a (a tie)"
    lengths = [bar[1, 0] for bar in left.collections[0].get_segments()]
    np.testing.assert_allclose(sorted(lengths), sorted(AXI.features @ [1, 1]))


@pytest.mark.parametrize("C", CONSTANTS)
def test_the_film_is_the_solvers_run(C: float) -> None:
    problem, frames = film_problem(C), training_frames(C)
    rng = np.random.default_rng(0)
    solver = block_frank_wolfe(problem, rng=rng, n_cached_rounds=0)
    result = results.run(solver, problem, tol=1e-15, max_iter=N_PASSES)
    last = frames[-1]
    assert (last.primal, last.dual) == pytest.approx((result.primal, result.dual), rel=1e-12)
    np.testing.assert_allclose(last.weights, result.weights, atol=1e-12)
    np.testing.assert_allclose(last.alpha, listed(result.alpha, N_WORDS), atol=1e-12)
    assert len(frames) == N_PASSES + 1
    wrong = ~(frames[0].alpha > 0)  # at first every word has all on its truth
    for before, here in itertools.pairwise(frames):
        assert here.dual <= here.primal
        assert here.dual >= before.dual - 1e-12
        np.testing.assert_allclose(here.alpha.sum(axis=1), C)
        assert (here.new == (here.alpha > 0) & ~(before.alpha > 0) & wrong).all()
        assert not (here.gone & ~wrong).any(), "the truth is none of the wrong labellings"
        assert not (here.gone & (here.alpha > 0)).any()
        assert (before.gone <= here.gone | here.new).all(), "gone until it comes again"
        assert here.primal == pytest.approx(problem.primal(here.weights))


def test_runners_up_and_errors_are_those_of_inference() -> None:
    train, test = samples()
    problem = film_problem(0.3)
    for frame in training_frames(0.3)[1::5]:
        best = k_best(problem.potentials(frame.weights), 2)
        margins, wanted = runners_up(problem, frame.weights)
        wrong = 0
        for word, (labels, scores), margin, loss in zip(
            script()[0], best, margins, wanted, strict=True
        ):
            first_is_true = (labels[0] == word.true).all()
            wrong += (labels[0] != word.true).sum()
            assert (margin > 0) == first_is_true
            if first_is_true:
                assert margin == pytest.approx(scores[0] - scores[1])
                assert loss == (labels[1] != word.true).sum()
        assert wrong == frame.wrong
        read, _ = best_labelling(
            Problem(test, problem.loss, problem.regulariser).potentials(frame.weights)
        )
        assert frame.test_error == pytest.approx(np.mean(read != test.labels))
    assert len(train.labels) == 3 * N_WORDS


def test_training_film_shows_the_pass() -> None:
    explorer, here = training_film().set(passes=3, C=0.3), training_frames(0.3)[3]
    said = explorer.summary
    top, errors, bottom, bounds = explorer.figure.axes
    missing = [np.ptp(part[:, 1]) for part in top.collections[0].get_segments()]
    np.testing.assert_allclose(missing, np.maximum(here.wanted - here.margins, 0.0), atol=1e-9)
    heights = [
        sum(np.ptp(path.vertices[:, 1]) for path in stack.get_paths())
        for stack in bottom.collections
    ]
    assert sum(heights) == pytest.approx(N_WORDS)
    assert heights[1] == pytest.approx(here.alpha[here.new].sum() / 0.3)
    assert heights[2] == pytest.approx(here.on_truth.sum())
    np.testing.assert_allclose(
        errors.lines[1].get_ydata(), [100 * frame.test_error for frame in training_frames(0.3)[:4]]
    )
    assert bounds.lines[0].get_ydata()[-1] == here.primal
    assert f"{here.short.sum()} of 10 runners-up are too close" in said
    assert f"{here.gone.sum()} gone" in said
    start = training_frames(0.3)[
        0
    ]  # without weights all labellings are level: no true one is ahead
    assert start.behind.all()
    assert start.wrong > 0
    for C in CONSTANTS:  # nothing is drawn outside
        margins = np.array([frame.margins for frame in training_frames(C)])
        assert top.get_ylim()[0] < margins.min() <= margins.max() < top.get_ylim()[1]
        assert all(frame.primal < bounds.get_ylim()[1] for frame in training_frames(C))


def test_what_the_notebook_says_of_the_film() -> None:
    cautious, middle, eager = (training_frames(C)[-1] for C in (0.03, 0.3, 3.0))
    assert round(cautious.test_error, 2) == 0.12
    assert eager.test_error > 0.2
    assert (cautious.wrong, eager.wrong) == (2, 0)
    assert (middle.alpha > 0).sum() - (middle.on_truth > 0).sum() == 15
    before, after = training_frames(0.3)[2:4]
    assert after.primal > before.primal
    first, third = 0, 2  # xia and aix
    assert [script()[0][i].word for i in (first, third)] == ["xia", "aix"]
    assert middle.margins[first] > middle.wanted[first]
    assert middle.margins[third] < 0
    assert middle.on_truth[[first, third]].tolist() == pytest.approx([1.0, 0.0])
