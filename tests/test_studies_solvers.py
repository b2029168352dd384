"""The study of solvers: what is recorded and what is summed up; test_quick_studies.py runs it."""

import numpy as np
import pytest

from medn_edu.explorers import new_figure
from medn_edu.problems import Certificate
from medn_edu.results import Iterate
from medn_edu.solvers import M3N_SOLVERS
from medn_edu.studies.solvers import draw_traces, label_traces, summaries, watch


class Halving:
    """A problem of four samples whose gap is the weight."""

    n_samples = 4

    def certify(self, weights, alpha=None):
        return Certificate(primal=1.0, dual=1.0 - weights[0])


def halving(calls_per_pass=4, stop_at=None):
    for k in range(1, 1000):
        stopped = "enough" if k == stop_at else ""
        yield Iterate(np.array([2.0**-k]), 1.0, 1.0, calls_per_pass * k, stopped=stopped)


def watched(iterates, target=1e-9, n_passes=99):
    return watch(iterates, Halving(), lambda w: float(w[0]), target=target, n_passes=n_passes)


def test_passes_are_recorded_ever_more_rarely_until_the_gap_is_small():
    rows = watched(halving(), target=1e-6)
    passes = [row["n_passes"] for row in rows]
    assert passes == [*range(1, 12), 13, 15, 17, 19, 21][: len(passes)]
    assert rows[-1]["relative_gap"] <= 1e-6 < rows[-2]["relative_gap"]
    assert all(row["error"] == row["relative_gap"] == 2.0 ** -row["iteration"] for row in rows)
    seconds = [row["cpu_seconds"] for row in rows]
    assert seconds == sorted(seconds)


def test_passes_are_calls_per_sample_not_iterations_up_to_the_end():
    rows = watched(halving(calls_per_pass=1), n_passes=3)
    assert all(row["iteration"] == 4 * row["n_passes"] for row in rows)
    assert (rows[0]["n_passes"], rows[-1]["n_passes"]) == (1, 3)
    rows = watched(halving(calls_per_pass=40), n_passes=30)
    assert [row["n_passes"] for row in rows] == [10, 20, 30]
    assert watched(halving(calls_per_pass=1, stop_at=6))[-1]["iteration"] == 6
    assert watched(iter(())) == []


def planted(name, gaps):
    return [
        {
            "solver": name, "iteration": k, "n_passes": 2.0 * k, "primal": 1.0, "dual": 0.0,
            "relative_gap": gap, "error": 0.2, "cpu_seconds": 0.1 * k,
        }
        for k, gap in enumerate(gaps, start=1)
    ]  # fmt: skip


def test_passes_and_seconds_to_each_goal():
    rows = planted("one", [0.5, 0.09, 0.2, 0.009]) + planted("two", [None, 0.5])
    one, two = summaries(rows)
    assert (one["passes_to_0.1"], one["seconds_to_0.1"]) == (4, pytest.approx(0.2))
    assert (one["passes_to_0.01"], one["passes_to_0.001"]) == (8, None)
    assert (two["passes_to_0.1"], two["relative_gap"]) == (None, 0.5)


def test_labels_keep_out_of_each_others_way_and_of_the_figure_without_room():
    rows = [
        {**point, "n_passes": 2.0**k}
        for shift, name in enumerate(["first", "second", "third", "fourth"])
        for k, point in enumerate(planted(name, 0.9 ** np.arange(1, 40) / (1 + shift)))
    ]
    figure = new_figure(8, 5)
    axes = figure.subplots(1, 2)
    for ax, x in zip(axes, ("n_passes", "cpu_seconds"), strict=True):
        draw_traces(ax, rows, x)
    label_traces(figure, axes)
    figure.draw_without_rendering()
    for ax in axes:
        boxes = [text.get_window_extent() for text in ax.texts]
        assert [text.get_text() for text in ax.texts] == ["first", "second", "third", "fourth"]
        frame = ax.get_window_extent()
        for k, box in enumerate(boxes):
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1
            assert not any(box.overlaps(other) for other in boxes[:k])
    figure = new_figure(1.6, 1.2)
    ax = figure.add_subplot()
    heights = np.linspace(0, 1, 12)
    ax.plot(np.tile([0, 1, 1, 0], 6), np.repeat(heights, 2), label="a")
    ax.plot([0, 1], [0, 1], label="b")
    label_traces(figure, [ax])
    assert not ax.texts


def test_no_two_solvers_look_alike():
    rows = [point for name in M3N_SOLVERS for point in planted(name, [0.5, 0.1])]
    ax = new_figure().add_subplot()
    draw_traces(ax, rows)
    lines = ax.get_lines()
    assert len(lines) == len(M3N_SOLVERS)
    for look in ("get_color", "get_marker"):
        assert len({getattr(line, look)() for line in lines}) == len(lines)
