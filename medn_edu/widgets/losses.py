"""Log-loss and hinge of one word over one weight, next to the labellings that each looks at."""

from __future__ import annotations

from medn_edu.plots.losses import Losses, LossesFrame, losses_frame, with_minus
from medn_edu.theory.axi import AXI
from medn_edu.widgets.controls import Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson

_STEP = 0.05


def losses() -> Explorer:
    """Return an explorer of the log-loss and the hinge of the word *axi* over the habit's weight.

    On the left both losses with their slopes, and the number of letters that the prediction has
    wrong; on the right the probabilities of labellings, which make up the log-loss, the margin
    violations, the largest of which is the hinge, and the node marginals.  Drawn by
    `medn_edu.plots.losses`.

    Returns
    -------
    Explorer
        The explorer: its time is ``habit``, the weight of the habit; ``ink`` is the ink's.

    Examples
    --------
    >>> explorer = losses()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Losses()

    def update(habit: float, ink: float) -> str:
        frame = losses_frame(ink, habit)
        drawn.show(frame)
        return (
            f"Weights ink {ink:.2f}, habit {with_minus(habit)}: log-loss {frame.log_loss:.2f}, slope "
            f"{with_minus(frame.log_slope)}, p(axi) {frame.probabilities[AXI.true_row]:.2f}; hinge "
            f"{frame.hinge:.2f}, slope {_slope(frame)}, from {' and '.join(frame.suppliers)}; "
            f"{frame.wrong:.0f} of 3 letters wrong."
        )

    def alt(habit: float, ink: float) -> str:
        frame = losses_frame(ink, habit)
        return (
            f"Left, the log-loss, a smooth curve, and the hinge, made of straight pieces, over the "
            f"habit's weight; at {with_minus(habit)} they are {frame.log_loss:.2f} and "
            f"{frame.hinge:.2f}. Right, the labellings with their probabilities and violations, "
            f"the largest from {frame.suppliers[0]}, and the node marginals with it framed."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="losses",
        habit=Time(-1.0, 3.0, _STEP, 0.5, label="w₂, weight of the habit", per_second=8),
        ink=Slider(0.5, 2.0, 0.25, 0.75, label="w₁, weight of the ink"),
    )


def _slope(frame: LossesFrame) -> str:
    left, right = frame.hinge_slopes
    if left == right:
        return with_minus(left, 0)
    return f"{with_minus(left, 0)} before and {with_minus(right, 0)} after"


def _lessons() -> list[Lesson]:
    def only_one_is_zero(habit: float, ink: float) -> bool:
        here, before = (losses_frame(ink, w) for w in (habit, 1.0 - _STEP))
        return before.hinge > 0 == here.hinge and here.log_loss > 0.1 and here.log_slope < 0

    def jumps(habit: float, ink: float) -> bool:
        here, *both = (losses_frame(ink, w) for w in (habit, habit - _STEP, habit + _STEP))
        left, right = (each.hinge_slopes[0] for each in both)
        turned = abs(both[1].log_slope - both[0].log_slope)
        return here.hinge_slopes == (left, right) == (-2.0, -1.0) and turned < 0.1

    def waits(habit: float, ink: float) -> bool:
        here, later = (losses_frame(ink, w) for w in (habit, 3.0))
        alike = abs(here.hinge - later.hinge) < 1e-9 and later.log_loss < here.log_loss
        return alike and here.hinge > 0 and here.wrong == 0 and here.suppliers == ["iax"]

    return [
        Lesson(
            {"ink": 1.0, "habit": 1.5},
            "From w₂ = 1 on the hinge is exactly 0; the log-loss is not, and still falls.",
            only_one_is_zero,
        ),
        Lesson(
            {"ink": 0.75, "habit": 0.5},
            "Where aai and aax tie, the hinge's slope jumps from -2 to -1; the log-loss bends smoothly.",
            jumps,
        ),
        Lesson(
            {"ink": 0.5, "habit": 1.5},
            "With a faint ink the hinge stays at 1, although nothing is read wrong: iax has the habits "
            "of axi, and only ink can push it back.",
            waits,
        ),
    ]
