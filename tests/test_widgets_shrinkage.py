"""The explorer of shrinkage: its lessons hold, and it says what it shows."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import shrinkage
from medn_edu.explorers.shrinkage import prior_gallery
from medn_edu.priors import LaplacePrior


@pytest.fixture(scope="module")
def explorer():
    return shrinkage()


def test_lessons(explorer):
    assert len(explorer.lessons) == 4
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(explorer):
    """A fact that held for every prior and every setting would teach nothing."""
    runs_away, lets_go, wall_moves, selects = explorer.lessons
    assert not runs_away.holds("normal-inverse Gaussian", 1.9, 4, False)
    assert not lets_go.holds("box", 1.0, 4, True)
    assert not wall_moves.holds("Laplace", 2.5, 4, False)
    assert not selects.holds("Gaussian", 3.0, 4, False)


def test_it_says_the_posterior_mean(explorer):
    explorer.set(prior="Laplace", eta=1.5, lam=4, matched=False)
    mean = LaplacePrior(4.0).mean(np.array([1.5]))[0]
    assert f"posterior mean {mean:.2f}" in explorer.summary
    assert "mode 0.00; a Gaussian of the prior's variance has the mean 0.75." in explorer.summary
    assert "mean 1.71" in explorer.frame().alt


def test_outside_the_domain(explorer):
    explorer.set(prior="Laplace", eta=2.5, lam=4, matched=False)
    assert "no posterior" in explorer.summary
    assert "-2.00 < η < 2.00" in explorer.summary
    explorer.set(prior="exponential")
    assert "the domain η < 2.00." in explorer.summary
    assert explorer.frame().alt.count("no posterior") == 1


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("prior", prior_gallery())
def test_every_prior_at_both_ends(explorer, prior, matched):
    seen = set()
    for eta, lam in ((-3.0, 1), (0.0, 9), (3.0, 9)):
        explorer.set(prior=prior, eta=eta, lam=lam, matched=matched)
        frame = explorer.frame()
        seen.add(frame.png)
        assert frame.summary.startswith(f"{prior} prior")
        assert "nan" not in frame.summary + frame.alt
        assert "inf" not in frame.summary
    assert len(seen) == 3


def test_the_curves_of_the_others_follow_the_switch(explorer):
    def gaussian_slope():
        right = explorer.figure.axes[1]
        (line,) = (line for line in right.lines if line.get_label() == "Gaussian")
        return np.polyfit(*line.get_data(), 1)[0]

    explorer.set(prior="box", eta=0.5, lam=4, matched=False).frame()
    assert gaussian_slope() == pytest.approx(1)
    explorer.set(eta=0.6, matched=True).frame()
    assert gaussian_slope() == pytest.approx(0.5)


def test_eta_is_the_time(explorer):
    assert [key for key, control in explorer.controls.items() if control.kind == "time"] == ["eta"]
    assert 0.0 in explorer.controls["eta"].values
