"""A prior is tilted, and its mean draws the shrinkage curve."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.shrinkage import prior_gallery
from medn_edu.plots.tilting import Tilting, TiltingFrame, tilting_frame
from medn_edu.widgets.controls import Check, Choice, Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def shrinkage() -> Explorer:
    """Return an explorer of the gallery of priors: tilt one by ``eta`` and watch its mean.

    On the left the prior and the posterior that ``exp(eta w)`` makes of it; on the right the
    posterior's mean against ``eta``, with the rest of the gallery behind.  Drawn by
    `medn_edu.plots.tilting`.

    Returns
    -------
    Explorer
        The explorer: its time is ``eta``, from -3 to 3; ``prior`` is a name of the gallery, ``lam``
        the Laplace prior's constant, and ``matched`` stretches all priors to its variance.

    Examples
    --------
    >>> explorer = shrinkage()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    tilting = Tilting()

    def update(prior: str, eta: float, lam: int, matched: bool) -> str:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        tilting.show(frame)
        setting = f"{prior} prior{_constant(prior, lam, matched)}, η = {eta:.1f}"
        if not frame.exists:
            return f"{setting}: no posterior, for η is outside the domain {_interval(frame)}."
        mode = "" if frame.mode is None else f", mode {frame.mode + 0.0:.2f}"
        return (
            f"{setting}: posterior mean {frame.mean:.2f}, standard deviation "
            f"{frame.deviation:.2f}{mode}; a Gaussian of the prior's variance has the mean "
            f"{_gaussian_mean(prior, eta, lam, matched):.2f}."
        )

    def alt(prior: str, eta: float, lam: int, matched: bool) -> str:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        reached = f"mean {frame.mean:.2f}" if frame.exists else "no posterior"
        return (
            f"Left, the {prior} prior and the posterior after tilting by η = {eta:.1f}, {reached}; "
            "right, the mean against η as a curve with the present point on it, those of the other "
            "priors of the gallery faint behind it."
        )

    return Explorer(
        tilting.figure,
        update,
        alt,
        lessons=_lessons(),
        name="shrinkage",
        prior=Choice(list(prior_gallery()), "Laplace"),
        eta=Time(-3.0, 3.0, 0.1, 1.5, label="η, natural parameter", per_second=8),
        lam=Slider(1, 9, 1, 4, label="λ"),
        matched=Check(False, label="match prior variances (to 2/λ)"),
    )


def _constant(prior: str, lam: int, matched: bool) -> str:
    if matched:
        return f" of variance 2/λ = {2 / lam:.2f}"
    return f", λ = {lam}" if prior in ("Laplace", "normal-gamma") else ""


def _interval(frame: TiltingFrame) -> str:
    low, high = frame.prior.domain
    below = f"{low:.2f} < " if np.isfinite(low) else ""
    return f"{below}η < {high:.2f}"


def _gaussian_mean(prior: str, eta: float, lam: int, matched: bool) -> float:
    at_zero = prior_gallery(float(lam), matched=matched)[prior]
    return float((at_zero.mean(np.zeros(1)) + eta * at_zero.variance(np.zeros(1)))[0])


def _lessons() -> list[Lesson]:
    def runs_away(prior: str, eta: float, lam: int, matched: bool) -> bool:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        beyond = tilting_frame(prior, 2.0, float(lam), matched=matched)
        return frame.mode == 0.0 and frame.mean > 9 and not beyond.exists

    def lets_go(prior: str, eta: float, lam: int, matched: bool) -> bool:
        curves = tilting_frame(prior, eta, float(lam), matched=matched).curves
        mine, slope = curves[prior], 2 / lam
        return bool(
            matched
            and np.allclose(curves["Gaussian"].mean, slope * curves["Gaussian"].eta)
            and np.all(np.abs(mine.mean) >= slope * np.abs(mine.eta) * (1 - 1e-12))
        )

    def selects(prior: str, eta: float, lam: int, matched: bool) -> bool:
        near, far = (tilting_frame(prior, e, float(lam), matched=matched) for e in (0.1, eta))
        return near.mean / 0.1 < 0.11 and far.mean / eta > 0.9

    def wall_moves(prior: str, eta: float, lam: int, matched: bool) -> bool:
        before, now = (tilting_frame(prior, eta, other, matched=matched) for other in (4.0, lam))
        ends = [each.prior.domain[1] for each in (before, now)]
        slopes = [float(each.prior.variance(np.zeros(1))[0]) for each in (before, now)]
        return (
            now.exists
            and not before.exists
            and np.allclose(ends, [2, 3])
            and np.allclose(slopes, [1 / 2, 2 / 9])
        )

    return [
        Lesson(
            {"prior": "Laplace", "eta": 1.9, "lam": 4, "matched": False},
            "Near η = √λ the Laplace posterior's mean leaves every bound, and its mode is still 0.",
            runs_away,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 1.0, "lam": 4, "matched": True},
            "At equal prior variance Laplace nowhere shrinks more than the Gaussian: it lets large "
            "weights go.",
            lets_go,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 2.5, "lam": 9, "matched": False},
            "λ moves the wall: at λ = 9 it stands at 3, not at 2, and the slope at 0 is 2/9, not 1/2.",
            wall_moves,
        ),
        Lesson(
            {"prior": "spike and slab", "eta": 3.0, "lam": 4, "matched": False},
            "Spike and slab shrinks small weights to a tenth and leaves large ones nearly alone.",
            selects,
        ),
    ]
