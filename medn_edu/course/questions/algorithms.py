"""Questions of chapters 07 to 09: what solvers do on the way, and where they end."""

from medn_edu.course.questions.question import Question, nearest

# -- variational -----------------------------------------------------------------------------------


def _rest() -> int:
    from medn_edu.explorers.majorants import KINDS, MOST_ITERATIONS, majorant_frame

    frame = majorant_frame(KINDS[0], MOST_ITERATIONS, 2, 0.5)
    return nearest(frame.means[-1], frame.exact, frame.means[0], frame.exact / 2, 0)


predict_rest = Question(
    asks="With λ = 2 and C = 0.5 the exact mean is 0.57. Algorithm 1 starts close to it, at 0.5. "
    "Where will it come to rest?",
    choices=(
        "At the exact mean",
        "Where it starts",
        "At half the exact mean",
        "At 0",
    ),
    right=_rest,
    look="Play the iterations, and see which curve each parabola touches. Then set λ = 4 and C = 1 and "
    "play them again. Last, choose the other parabolas.",
    because="Its parabolas touch the bound and not the true cost, so it comes to rest where the bound "
    "is lowest.",
)


def _stop() -> int:
    from medn_edu.explorers.variational import N_PROGRAMS, variational_trail

    low, high = (int(variational_trail(lam).excess.argmin()) for lam in (4, 36))
    if low == high:
        return 0 if low == N_PROGRAMS - 1 else 1
    return 2 if high > low else 3


predict_stop = Question(
    asks="At which iteration of Algorithm 1 is the true cost lowest, at λ = 4 and at λ = 36?",
    choices=(
        "At the last one, for every λ",
        "At the same early one, for every λ",
        "At a later one for the larger λ",
        "At an earlier one for the larger λ",
    ),
    right=_stop,
    look="Change λ and step through the iterations. See how far the variances in the middle come down.",
    because="The variances fall from 1 and pass the exact ones on their way. With a larger λ the exact "
    "variances are smaller, so the algorithm meets them later.",
)

# -- exact -----------------------------------------------------------------------------------------


def _budget() -> int:
    from medn_edu.explorers.frank_wolfe import frank_wolfe_passes
    from medn_edu.theory.axi import WORDS

    alpha = frank_wolfe_passes("Laplace, λ = 36", 0.3, False)[-1].alpha
    on_truth = sum(alpha[i, word.true_row] for i, word in enumerate(WORDS)) / alpha.sum()
    return nearest(on_truth, 1, 0.75, 0.5, 0)


predict_budget = Question(
    asks="At the start each word's whole budget C lies on its true labelling. Take the Laplace prior, "
    "λ = 36, and a small budget, C = 0.3. How much of it is still there after 16 passes?",
    choices=("All of it", "Most of it", "About half", "Nothing"),
    right=_budget,
    look="Choose C = 0.3 and play the passes. Then go back to C = 3. See how close the largest η comes "
    "to the wall at 6, and whether the primal line ever goes up.",
    because="With such a small C no word gets all its margins. A word whose margins fall short spends "
    "its whole budget on wrong labellings.",
)

# -- l1-m3n ----------------------------------------------------------------------------------------


def _regions() -> int:
    from medn_edu.explorers.projections import projection_frame

    near, far = (
        sum(bool(projection_frame(angle, distance).zeros) for angle in range(0, 90, 5))
        for distance in (1.2, 2.0)
    )
    return 0 if far < near else 1 if far == near else 2


predict_regions = Question(
    asks="Take all points at a given distance from the centre of the L1 ball. For some directions the "
    "nearest point of the ball has a weight of exactly 0. If the distance grows, do such directions "
    "become fewer, or more?",
    choices=("Fewer", "As many as before", "More"),
    right=_regions,
    look="Set the distance to 1.2 and play the direction. Then do the same at 2. Compare with what the "
    "L2 ball does.",
    because="Both weights survive only in a strip of fixed width. Farther out, the same strip covers "
    "fewer directions.",
)


def _rows() -> int:
    from medn_edu.explorers.working_sets import cutting_plane_rounds

    kept = cutting_plane_rounds(1.0)[-1].kept
    return nearest(kept.sum(), len(kept), len(kept) / 2, 10, 2)


predict_rows = Question(
    asks="The two words have 62 wrong labellings. With C = 1, how many of them are in the working sets "
    "when the two bounds meet?",
    choices=("All 62", "About 30", "About ten", "Two, one for each word"),
    right=_rows,
    look="Step through the rounds. See whether each solution is closer to the optimum than the one "
    "before, and whether a round can make the true cost worse.",
    because="A constraint that is never violated doesn't matter. The few that hold "
    "the solution in place are enough to prove that nothing is better.",
)


def _copies() -> int:
    import numpy as np

    from medn_edu.explorers.l1_path import _in_order, correlated_problem
    from medn_edu.results import run
    from medn_edu.solvers import l1_cutting_plane

    problem = correlated_problem(0.05)
    found = run(l1_cutting_plane(problem), problem, tol=1e-6, max_iter=1000)
    weights = np.abs(_in_order(found.weights))[:18].reshape(2, 3, 3)  # group, copy, label
    return nearest((weights > 1e-9).sum(axis=1).max(), 3, 2, 1, 0)


predict_copies = Question(
    asks="Each feature that matters comes as three near-copies. At C = 0.05, how many of the three end "
    "up with a nonzero weight for the same label?",
    choices=("All three, which share it", "Two", "One at most", "None"),
    right=_copies,
    look="Go along λ to the clean-up. See whether the other copies only get smaller or go to 0.",
    because="Near-copies do the same work, and the L1 norm gives no discount for sharing it. The "
    "copy that fits a little better takes all of that label's weight.",
)
