"""A prior is tilted, and a tangent tells its mean and its divergence."""

from __future__ import annotations

import math

from medn_edu.plots.tangents import PRIORS, Tangents, tangent_frame
from medn_edu.widgets.controls import Choice, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def tangents() -> Explorer:
    """Return an explorer of ``Lambda``: tilt a prior, and read height, slope and intercept.

    On the left the prior, tilted, and below it what its mean costs, ``Lambda*``; on the right the curve
    ``Lambda`` with the tangent at ``eta``, whose slope is the mean and whose intercept on the vertical
    axis is minus the divergence.  Drawn by `medn_edu.plots.tangents`.

    Returns
    -------
    Explorer
        The explorer: its time is ``eta``, from -2.5 to 2.5; ``prior`` is Gaussian, Laplace (with lambda
        4), box or two-point.

    Examples
    --------
    >>> explorer = tangents()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Tangents()

    def update(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        drawn.show(frame)
        setting = f"{prior} prior, η = {eta + 0.0:.1f}"
        if not frame.exists:
            low, high = frame.tilted.prior.domain
            return f"{setting}: Λ is infinite, for it is finite only if {low:.2f} < η < {high:.2f}."
        return (
            f"{setting}: height Λ(η) = {frame.height:.2f}, slope μ = {frame.slope + 0.0:.2f}, "
            f"intercept {_number(frame.intercept)}, so KL(p‖p0) = {frame.kl:.2f}."
        )

    def alt(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        if not frame.exists:
            return (
                f"Left, the {prior} prior without a posterior, and the conjugate curve; right, Λ, which "
                f"ends before η = {eta:.1f}, without a tangent."
            )
        return (
            f"Left, the {prior} prior and the posterior after tilting by η = {eta + 0.0:.1f}, and below "
            f"it the conjugate, {frame.kl:.2f} at the mean {frame.slope + 0.0:.2f}; right, the curve Λ "
            f"with its tangent at η, which cuts the vertical axis at {_number(frame.intercept)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="tangents",
        prior=Choice(list(PRIORS), "Gaussian"),
        eta=Time(-2.5, 2.5, 0.1, 1.6, label="η, natural parameter", per_second=8),
    )


def _number(value: float) -> str:
    """Return two digits after the point, and 0.00 for what rounds to it from below."""
    return f"{round(value, 2) + 0.0:.2f}"


def _lessons() -> list[Lesson]:
    def mirrored(prior: str, eta: float) -> bool:
        frame = tangent_frame(prior, eta)
        return eta != 0 and math.isclose(frame.height, -frame.intercept, rel_tol=1e-9)

    def runs_away(prior: str, eta: float) -> bool:
        frame, beyond = tangent_frame(prior, eta), tangent_frame(prior, 2.0)
        return frame.height < 2.5 and frame.slope > 9 and frame.kl > 15 and not beyond.exists

    def saturates(prior: str, eta: float) -> bool:
        kls = [tangent_frame(prior, t).kl for t in (eta, 2 * eta, 10 * eta)]
        return kls[0] > 0.9 * math.log(2) and kls[0] < kls[1] < kls[2] <= math.log(2)

    return [
        Lesson(
            {"prior": "Gaussian", "eta": 1.6},
            "The standard normal's tangent cuts the axis as far below 0 as the curve is above it: "
            "height and divergence are both η²/2.",
            mirrored,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 1.9},
            "Near η = √λ = 2 the Laplace prior's Λ is still low, but its tangent is steep and cuts the "
            "axis far below; from 2 on there is no Λ.",
            runs_away,
        ),
        Lesson(
            {"prior": "two-point", "eta": 2.5},
            "However far the two-point prior is tilted, the divergence stays below log 2 = 0.69.",
            saturates,
        ),
    ]
