"""Questions of chapters 00 to 06: scores, losses, priors and what they do to weights.

What a question needs is imported when its answer is computed, because a notebook asks for few of them.
"""

from medn_edu.course.questions.question import Question, nearest

# -- start-here ------------------------------------------------------------------------------------


def _jump() -> int:
    import numpy as np

    from medn_edu import M3N, load_digit_words
    from medn_edu.explorers.lattice import lattice_frame
    from medn_edu.inference import node_potentials
    from medn_edu.samples import pack

    digits = load_digit_words()
    X, y = ([part[i] for i in digits.train] for part in (digits.data, digits.target))
    model = M3N(C=0.1, tol=0.1, verbose=0).fit(X, y)
    word = pack([digits.data[digits.test[81]]]).forests
    node, strengths = node_potentials(word, model.coef_), np.linspace(0, 2, 41)
    paths = [lattice_frame(word, node, model.transitions_, s).path for s in strengths]
    steps = sum(bool((a != b).any()) for a, b in zip(paths[1:], paths, strict=False))
    return nearest(steps, len(strengths) - 1, 1, 3)


predict_jump = Question(
    asks="The slider goes from 0 to 2 in 40 small steps. How does the best path change on the way?",
    choices=(
        "A little with every step",
        "Once, where the strength is 1",
        "Most steps change nothing, but at a few of them the path jumps",
    ),
    right=_jump,
    look="Press Play and watch the best path, also beyond 1: see whether more grammar always helps.",
    because="A path is one of finitely many labellings. It stays the best one until another one's "
    "score overtakes it, and then it is replaced in a single step.",
)

# -- structured-prediction -------------------------------------------------------------------------


def _terms() -> int:
    from medn_edu.explorers.score_terms import terms_frame

    changed = terms_frame("aai", 1.0, 1.0).terms != terms_frame("axi", 1.0, 1.0).terms
    return nearest(changed.sum(), 1, 2, 3, 5)


predict_terms = Question(
    asks="You start from axi and change the label of its second letter from x to a. How many of the "
    "five terms of the score change?",
    choices=("One", "Two", "Three", "All five"),
    right=_terms,
    look="Change the second label and compare the bars. Then try a negative weight.",
    because="A label occurs in its own ink term and in one habit term for each neighbour, and nowhere "
    "else. The second letter has two neighbours.",
)


def _paths() -> int:
    from medn_edu.explorers.viterbi_steps import viterbi_table

    alive = viterbi_table(1.0, 1.0).alive(6).sum()
    return nearest(alive, 27, 18, 9, 3)


predict_paths = Question(
    asks="Of the 27 paths, how many can still be the best one when all three cells of letter 2 are "
    "filled?",
    choices=("All 27", "18", "Nine", "Three"),
    right=_paths,
    look="Go to step 6, count the paths without a ×, and see whether one of the others is ever missed.",
    because="Each cell keeps one of its three beginnings. Whatever follows adds the same to all "
    "three, so two thirds of the paths are out for good: 9 of 27 are left.",
)


def _doubled() -> int:
    from medn_edu.explorers.margins import margins_frame

    single, double = (margins_frame("axi", weight, weight) for weight in (0.5, 1.0))
    if single.best != double.best:
        return 3
    return 1 if double.hinge < single.hinge else 2 if double.hinge > single.hinge else 0


predict_doubled = Question(
    asks="For the word axi, you double both weights, from 0.5 to 1. What happens to the best path and "
    "to the hinge loss?",
    choices=(
        "Both stay as they are",
        "The path stays, and the hinge loss falls",
        "The path stays, and the hinge loss doubles",
        "The path changes",
    ),
    right=_doubled,
    look="Set both weights to 0.5, then to 1, and compare the margins with the dashed lines. Then find "
    "the smallest weight of the habit at which every margin reaches its loss.",
    because="All scores double, so their order stays the same. The margins double as well, but the "
    "margins we want don't change.",
)

# -- two-losses ------------------------------------------------------------------------------------


def _faint() -> int:
    from medn_edu.explorers.losses import losses_frame

    here, later, last = (losses_frame(0.5, habit).hinge for habit in (0.5, 1.5, 3.0))
    if last > here:
        return 3
    return 2 if last > 0 else 1 if later > 0 or here > 0 else 0


predict_faint = Question(
    asks="With a faint ink, w₁ = 0.5, every letter is read right as soon as w₂ is above 0.25. What does "
    "the hinge do as w₂ grows beyond that?",
    choices=(
        "It is 0 from there on",
        "It reaches 0 somewhat later",
        "It never reaches 0",
        "It rises again",
    ),
    right=_faint,
    look="Set the ink's weight to 0.5, play w₂, and see which labelling the hinge looks at in the end.",
    because="In the end the hinge looks at iax, which has as many liked pairs as axi. Only a "
    "larger weight on the ink could push iax back by the margin we want.",
)


def _overfit() -> int:
    from medn_edu.explorers.training_film import training_frames

    cheap, expensive = (training_frames(C)[-1] for C in (0.3, 3.0))
    return 2 * (expensive.wrong >= cheap.wrong) + (expensive.test_error >= cheap.test_error)


predict_overfit = Question(
    asks="Make margin violations ten times as expensive, C = 3 instead of 0.3. Which letters are wrong "
    "at the end of the run, compared with before?",
    choices=(
        "Fewer of the training words, and fewer of the other words",
        "Fewer of the training words, but more of the other words",
        "More of the training words, but fewer of the other words",
        "More of both",
    ),
    right=_overfit,
    look="Go to the last pass and change C. Then play the run, watch the two panels of one word, and "
    "see whether the primal value ever rises.",
    because="At a high price the model fits every detail of ten badly written words, and most of those "
    "details are noise.",
)

# -- toolbox ---------------------------------------------------------------------------------------


def _divergence() -> int:
    from medn_edu.explorers.tangents import tangent_frame

    return nearest(tangent_frame("Laplace", 1.9).kl, 1.2, 2.3, 5, 16)


predict_divergence = Question(
    asks="Tilt the Laplace prior with λ = 4 by η = 1.9, where the height of Λ is 2.3. How large is the "
    "divergence?",
    choices=(
        "About 1.2, half the height",
        "About 2.3, the same as the height",
        "About 5, twice the height",
        "About 16, seven times the height",
    ),
    right=_divergence,
    look="Choose the Laplace prior, play η up to 1.9, and follow the tangent back to the vertical axis. "
    "Then do the same with the other priors.",
    because="Near the end of the domain the curve gets very steep. Its slope is the mean, 9.7 at "
    "η = 1.9, so the tangent goes down by 1.9 · 9.7 = 18.5 on its way to the axis.",
)

# -- medn ------------------------------------------------------------------------------------------


def _mode() -> int:
    import numpy as np

    from medn_edu.explorers.two_weights import two_weights_frame

    frames = [two_weights_frame("Laplace", C, 4.0) for C in (0.03, 0.3, 1.0, 3.0, 10.0)]
    modes = np.array([frame.mode for frame in frames])
    means = np.array([frame.mean for frame in frames])
    if np.allclose(modes, means, atol=0.05):
        return 0
    if np.allclose(modes, modes[0]):
        return 2
    return 1 if np.all(np.diff(modes[:, 0]) >= 0) else 3


predict_mode = Question(
    asks="Take the Laplace prior with λ = 4, and let C grow from its smallest value to its largest. The "
    "posterior mean then moves to (1, 1). What does the mode (the highest point of the density) do?",
    choices=(
        "It moves along with the mean",
        "It follows later and more slowly",
        "It doesn't move at all",
        "It jumps back and forth",
    ),
    right=_mode,
    look="Choose the Laplace prior, press Play for C, and watch the triangle and the dot.",
    because="The prior has a sharp peak at 0. Tilting makes its right side flatter, but as long as "
    "η stays below √λ the density still falls on both sides of 0. The mean moves because the tail on "
    "the right gets longer.",
)

# -- shrinkage -------------------------------------------------------------------------------------


def _shape() -> int:
    import numpy as np

    from medn_edu.explorers.shrinkage import prior_gallery

    priors, at = prior_gallery(4.0, matched=True), np.ones(1)
    names = ("box", "Laplace", "spike and slab", "two-point")
    return int(np.argmax([priors[name].mean(at)[0] for name in names]))


predict_shape = Question(
    asks="All eight priors have the same variance, 1/2. Under which of these four priors is the "
    "posterior mean largest at η = 1?",
    choices=(
        "The box prior",
        "The Laplace prior",
        "The spike-and-slab prior",
        "The two-point prior",
    ),
    right=_shape,
    look="Choose the four priors in turn at η = 1, with “match prior variances” ticked, and compare "
    "their means with the Gaussian's. Then do the same at η = 1.9.",
    because="Equal variances mean equal slopes at η = 0, but soon the curves part. As η grows, this "
    "posterior moves from the spike at 0 to the slab, whose variance is ten times the prior's.",
)

# -- kl-norm ---------------------------------------------------------------------------------------


def _turn() -> int:
    import numpy as np

    from medn_edu.explorers.norm_balls import touching_kl

    angles = np.deg2rad(range(5, 86, 4))
    points = [touching_kl(10_000, np.array([np.cos(a), np.sin(a)])) for a in angles]
    between = 4 * int(np.sum(np.min(points, axis=1) > 0.05))  # degrees away from both corners
    return nearest(between, 80, 15, 0)


predict_turn = Question(
    asks="A line turns around three balls, from a direction of 5 degrees to one of 85 degrees. On the "
    "L2 ball the touching point moves at a steady pace. What does it do on the KL ball with λ = 10,000?",
    choices=(
        "It moves at a steady pace, too",
        "It stays near one corner, then moves to the other one within about 15 degrees",
        "It sits exactly at one corner and jumps to the other one at 45 degrees",
    ),
    right=_turn,
    look="Set λ to 10,000, turn the line through 45 degrees, and see whether you ever read exactly 0.",
    because="The ball is round everywhere, so no corner can hold the point. But it's nearly flat "
    "between its rounded corners, so a small turn of the line takes the point all the way across.",
)
