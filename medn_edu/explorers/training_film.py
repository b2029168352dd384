"""A training run as a film: margins, dual variables, errors and bounds move together.

Ten words of the script of `medn_edu.theory.axi`, each badly written in its own way, train an M3N with
18 weights: each label has weights of its own.  The solver is `medn_edu.solvers.block_frank_wolfe`, and
a frame is one of its passes, certified.  Another 300 words are only used to count errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.text import Text

from medn_edu.explorers.frank_wolfe import listed
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_bounds
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, styled
from medn_edu.inference import Potentials, best_labelling
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.theory.axi import AXI, HABIT, TinyWord, axi_samples, text

CONSTANTS = (0.03, 0.1, 0.3, 1.0, 3.0)
N_PASSES, N_WORDS, N_TEST = 20, 10, 300

_LABELLINGS = AXI.labellings
_NAMES = [text(labels) for labels in _LABELLINGS]
_MOST_NAMES, _LEAST_NAMED = 24, 0.12  # labellings named in the stacks, and their smallest share
_LOW, _HIGH = -1.5, 3.9  # margins drawn; no runner-up's is beyond
_FLOOR, _TOP = 0.3, 120  # values drawn; a dual value below is drawn at the floor
_NOWHERE = np.array([np.nan, np.nan])
_KEYS = (
    (0.02, 1.155),
    (0.54, 1.155),
    (0.02, 1.055),
    (0.54, 1.055),
)  # above the axes, in their size
_PAD = 38  # of the titles, above two lines of keys


def _key(ax: Axes, x: float, y: float, words: str, **style: Any) -> Text:
    """Draw a mark above the axes and return the words next to it."""
    ax.plot([x], [y], ls="none", transform=ax.transAxes, clip_on=False, zorder=9, **style)
    look: dict[str, Any] = {"va": "center", "fontsize": 9, "zorder": 9, "in_layout": False}
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    return ax.annotate(words, (x, y), (8, 0), **place, **look)


@cache
def script() -> tuple[tuple[TinyWord, ...], tuple[TinyWord, ...]]:
    """Return words to train on and to read: most pairs follow the habit, and the ink is noisy."""
    rng = np.random.default_rng(1)
    words = []
    for _ in range(N_WORDS + N_TEST):
        labels = [int(rng.integers(3))]
        for _ in range(2):
            labels.append(int(rng.choice(3, p=0.15 + 0.55 * HABIT[labels[-1]])))
        ink = 2 * np.eye(3)[labels] + rng.normal(size=(3, 3))
        words.append(TinyWord(text(labels), np.clip(ink.round(), 0, 3)))
    return tuple(words[:N_WORDS]), tuple(words[N_WORDS:])


@cache
def samples() -> tuple[LabelledSamples, LabelledSamples]:
    """Return the same words as the package's solvers want them."""
    train, test = script()
    return axi_samples(train), axi_samples(test)


def film_problem(C: float) -> Problem:
    """Return M3N's problem P0 on the ten words."""
    return Problem(samples()[0], MarginLoss(LinearSlack(C)), GaussianPrior())


@dataclass(frozen=True, eq=False)
class FilmFrame:
    """State of the training run after some passes."""

    weights: np.ndarray
    alpha: np.ndarray  # dual variables, a row per word and a column per labelling
    new: np.ndarray  # wrong ones whose dual variables are positive now and were not one pass ago
    gone: np.ndarray  # wrong ones whose dual variables were positive once and are exactly zero now
    margins: np.ndarray  # over each word's runner-up, the best of its wrong labellings
    wanted: np.ndarray  # Hamming losses of the runners-up
    wrong: int  # letters of the training words that are read wrong
    test_error: float  # share of the other words' letters that are read wrong
    primal: float
    dual: float

    @property
    def short(self) -> np.ndarray:
        """Which words' runners-up are closer than wanted."""
        return np.asarray(self.margins < self.wanted - 1e-9)

    @property
    def behind(self) -> np.ndarray:
        """Which true labellings are not ahead of the runner-up: behind it, or level with it."""
        return np.asarray(self.margins < 1e-9)

    @property
    def on_truth(self) -> np.ndarray:
        """Share of each word's ``C`` that lies on its true labelling."""
        return np.asarray(self.alpha[range(N_WORDS), _true_rows()] / self.alpha.sum(axis=1))

    @property
    def relative_gap(self) -> float:
        """Duality gap by primal value."""
        return (self.primal - self.dual) / self.primal


@cache
def _true_rows() -> list[int]:
    return [word.true_row for word in script()[0]]


def runners_up(problem: Problem, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin over each word's runner-up, and how many of its letters are wrong."""
    potentials = problem.potentials(weights)
    node, edge = potentials.node.reshape(N_WORDS, 3, 3), potentials.edge[0]
    scores = node[:, range(3), _LABELLINGS].sum(axis=2)
    scores += edge[_LABELLINGS[:, :-1], _LABELLINGS[:, 1:]].sum(axis=1)
    every, losses = range(N_WORDS), np.array([word.losses for word in script()[0]])
    margins = np.round(scores[every, _true_rows(), None] - scores, 9) + 0.0
    # where several are the runner-up, the one with most letters wrong
    rows = np.where(losses > 0, margins - 1e-6 * losses, np.inf).argmin(axis=1)
    return margins[every, rows], losses[every, rows]


def _misread(problem: Problem, weights: np.ndarray, data: LabelledSamples) -> int:
    """Return how many letters are read wrong."""
    potentials = Potentials.of_weights(data.samples, *problem.weight_shape.split(weights))
    return int((best_labelling(potentials)[0] != data.labels).sum())


@cache
def training_frames(C: float) -> tuple[FilmFrame, ...]:
    """Run the package's solver on the ten words; keep the start and every pass."""
    problem, (train, test) = film_problem(C), samples()
    alpha, weights = np.zeros((N_WORDS, 27)), np.zeros(problem.weight_shape.size)
    alpha[range(N_WORDS), _true_rows()] = C
    frames: list[FilmFrame] = []
    before = ever = alpha > 0
    wrong = ~before

    def keep(weights: np.ndarray, alpha: np.ndarray, primal: float, dual: float) -> None:
        positive = alpha > 0
        frames.append(
            FilmFrame(
                weights.copy(), alpha, positive & ~before & wrong, ever & ~positive & wrong,
                *runners_up(problem, weights),
                _misread(problem, weights, train),
                _misread(problem, weights, test) / len(test.labels),
                primal, dual,
            )
        )  # fmt: skip

    keep(weights, alpha, problem.primal(weights), 0.0)
    solver = block_frank_wolfe(problem, rng=np.random.default_rng(0), n_cached_rounds=0)
    for iterate in islice(solver, N_PASSES):
        certificate = iterate.certify(problem)
        assert isinstance(certificate.alpha, DualVariables)
        alpha = listed(certificate.alpha, N_WORDS)
        keep(iterate.weights, alpha, certificate.primal, certificate.dual)
        before, ever = alpha > 0, ever | (alpha > 0)
    return tuple(frames)


@cache
def _order(C: float) -> list[list[int]]:
    """Return each word's wrong labellings in the order in which they appear."""
    orders: list[list[int]] = [[] for _ in range(N_WORDS)]
    for frame in training_frames(C):
        for word, row in zip(*np.nonzero(frame.new), strict=True):
            if row not in orders[word] and row != _true_rows()[word]:
                orders[word].append(int(row))
    return orders


def _draw_margins(ax: Axes) -> Callable[[FilmFrame], None]:
    """Draw the margin of each word's runner-up, the margin wanted, and what is missing."""
    at = np.arange(N_WORDS)
    ax.axhline(0, color=INK, lw=0.8, zorder=0)
    missing = ax.vlines(at, 0, 0, color=ERROR, lw=2.2, alpha=0.6)
    wanted = ax.hlines(0 * at, at - 0.33, at + 0.33, color=INK, lw=2)
    kinds = [
        ("o", palette.BLUE, 7, "far enough behind"),
        ("v", ERROR, 8, "too close"),
        ("X", ERROR, 9, "level or ahead"),
    ]
    points = [ax.plot(_NOWHERE, _NOWHERE, mark, color=c, ms=size)[0] for mark, c, size, _ in kinds]
    keys = [*kinds, ("_", INK, 12, "margin wanted")]
    for (x, y), (mark, colour, size, words) in zip(_KEYS, keys, strict=True):
        _key(ax, x, y, words, marker=mark, color=colour, ms=size, mew=2 if mark == "_" else 1)
    ax.set(xlim=(-0.6, N_WORDS - 0.4), ylim=(_LOW, _HIGH), xticks=[], yticks=range(-1, 4))
    ax.set(ylabel="margin")
    ax.spines["bottom"].set_visible(False)
    ax.set_title("Margin over each runner-up", y=1.0, pad=_PAD)

    def show(frame: FilmFrame) -> None:
        margins, ends = frame.margins, np.where(frame.short, frame.wanted, frame.margins)
        missing.set_segments(
            [[(x, m), (x, end)] for x, m, end in zip(at, margins, ends, strict=True)]
        )
        wanted.set_segments(
            [[(x - 0.33, y), (x + 0.33, y)] for x, y in zip(at, frame.wanted, strict=True)]
        )
        behind = frame.behind
        chosen = (~frame.short, frame.short & ~behind, behind)
        for line, which in zip(points, chosen, strict=True):
            line.set_data(at[which], margins[which])

    return show


_STACKED = {"wrong": palette.SKY, "new (bold)": palette.ORANGE, "true": palette.FAINT_GREY}


def _draw_alpha(ax: Axes) -> Callable[[FilmFrame, float], None]:
    """Draw the dual variables of each word as a stack that reaches up to ``C``."""
    bars = [
        ax.add_collection(PolyCollection([], fc=colour, ec="white", lw=1))
        for colour in _STACKED.values()
    ]
    names = [ax.text(0, 0, "", ha="center", va="center", fontsize=9) for _ in range(_MOST_NAMES)]
    (gone,) = ax.plot(_NOWHERE, _NOWHERE, "x", color=MUTED, ms=4, mew=1.2)
    for (x, y), (words, colour) in zip(_KEYS, _STACKED.items(), strict=False):
        _key(ax, x, y, words, marker="s", color=colour, ms=8)
    _key(ax, *_KEYS[-1], "removed", marker="x", color=MUTED, ms=5, mew=1.2)
    # every other name a line lower: in a narrow picture they would run into each other
    trained = ["\n" * (k % 2) + word.word for k, word in enumerate(script()[0])]
    ax.set_xticks(range(N_WORDS), trained, family="monospace", fontsize=10)
    ax.tick_params(axis="x", length=0)
    ax.set_yticks([0, 1], ["0", "C"])
    ax.set(xlim=(-0.6, N_WORDS - 0.4), ylim=(0, 1.16), xlabel="training word")
    ax.set_ylabel("dual variables", labelpad=-2)
    ax.set_title("Labellings that share C", y=1.0, pad=_PAD)

    def show(frame: FilmFrame, C: float) -> None:
        stacks: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        labels, marks = [], []
        for word, (order, true) in enumerate(zip(_order(C), _true_rows(), strict=True)):
            base = 0.0
            for row in (*order, true):
                share = frame.alpha[word, row] / C
                if share <= 0:
                    continue
                kind = 2 if row == true else int(frame.new[word, row])
                left, right, top = word - 0.46, word + 0.46, base + share
                stacks[kind].append([(left, base), (right, base), (right, top), (left, top)])
                if share >= _LEAST_NAMED and kind < 2:
                    labels.append((word, base + share / 2, _NAMES[row], kind))
                base = top
            gone_here = int(frame.gone[word, order].sum())
            marks += [(word + 0.24 * (k - (gone_here - 1) / 2), 1.07) for k in range(gone_here)]
        gone.set_data(np.transpose(marks) if marks else _NOWHERE[:, None])
        for bar, stack in zip(bars, stacks, strict=True):
            bar.set_verts(stack)
        for k, name in enumerate(names):
            name.set_visible(k < len(labels))
            if k < len(labels):
                name.set_position(labels[k][:2])
                name.set_text(labels[k][2])
                name.set_fontweight("bold" if labels[k][3] else "normal")

    return show


def _stand_still(ax: Axes, title: str) -> None:
    ax.set(xlim=(-0.4, N_PASSES + 0.4), xticks=range(0, N_PASSES + 1, 4), xlabel="pass")
    ax.set_title(title, y=1.0, pad=_PAD)  # level with those on the left


def _draw_errors(ax: Axes) -> Callable[[tuple[FilmFrame, ...]], None]:
    """Draw the errors on training and test words over the passes."""
    (train,) = ax.plot([0], [0], "-o", color=palette.BLUE, ms=4, lw=1.5)
    (test,) = ax.plot([0], [0], "--s", color=ERROR, ms=4, lw=1.5)
    high, low = _KEYS[0][1], _KEYS[-1][1]
    train_text = _key(ax, 0.02, high, "", marker="o", color=palette.BLUE, ms=4)
    test_text = _key(ax, 0.02, low, "", marker="s", color=ERROR, ms=4)
    ax.set(ylim=(-2, 78), yticks=range(0, 61, 20), ylabel="letters wrong, %")
    _stand_still(ax, "Errors")

    def show(past: tuple[FilmFrame, ...]) -> None:
        at = range(len(past))
        train.set_data(at, [100 * frame.wrong / (3 * N_WORDS) for frame in past])
        test.set_data(at, [100 * frame.test_error for frame in past])
        train_text.set_text(f"training: {past[-1].wrong} of {3 * N_WORDS}")
        test_text.set_text(f"other words: {past[-1].test_error:.1%}")

    return show


def _draw_bounds(ax: Axes) -> Callable[[tuple[FilmFrame, ...]], None]:
    """Draw primal and dual value over the passes, with the gap between them."""
    show_bounds = draw_bounds(ax, size=4)
    ax.set(ylim=(_FLOOR, _TOP), ylabel="value (logarithmic)")  # before the scale, which asks
    ax.set_yscale("log")
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.minorticks_off()
    _stand_still(ax, "Primal and dual")
    place = {"transform": ax.transAxes, "ha": "right", "zorder": 9}
    ax.text(0.98, 0.9, "above: primal", color="#B34700", **place)
    ax.text(0.98, 0.8, "below: dual", color=palette.BLUE, **place)
    gap = ax.text(0.98, 0.7, "", transform=ax.transAxes, ha="right")

    def show(past: tuple[FilmFrame, ...]) -> None:
        dual = np.maximum([p.dual for p in past], _FLOOR)
        show_bounds(dual, np.array([p.primal for p in past]))
        gap.set_text(f"gap {_percent(past[-1].relative_gap)}")

    return show


def _percent(share: float) -> str:
    return f"{share:.2%}" if share >= 5e-5 else "below 0.01%"


@lesson(
    "With C = 3 no training letter is wrong, but more of the other words' letters are wrong than "
    "with C = 0.03.",
    {"passes": N_PASSES, "C": 3.0},
)
def _over_fits(passes: int, C: float) -> bool:
    here, cautious = training_frames(C)[passes], training_frames(CONSTANTS[0])[passes]
    return here.wrong == 0 < cautious.wrong and here.test_error > cautious.test_error + 0.05


@lesson(
    "With C = 0.3, at the end, the two panels of a word agree. Where the truth is clearly far enough "
    "ahead, it has all of C. Where the runner-up is clearly too close, wrong labellings share all of C.",
    {"passes": N_PASSES, "C": 0.3},
)
def _agree(passes: int, C: float) -> bool:
    frame = training_frames(C)[passes]
    ahead, close = (frame.on_truth[s * (frame.margins - frame.wanted) > 0.1] for s in (1, -1))
    return bool(len(ahead) and len(close) and ahead.min() > 0.999 and close.max() < 0.001)


@lesson(
    "A pass may make the weights worse for the moment: the primal value and the errors on other "
    "words rise, but the dual value doesn't fall.",
    {"passes": 3, "C": 1.0},
)
def _rises(passes: int, C: float) -> bool:
    frames = training_frames(C)
    before, here = frames[max(passes - 1, 0)], frames[passes]
    worse = here.primal > 1.05 * before.primal and here.test_error > before.test_error + 0.02
    return worse and here.dual >= before.dual


def training_film() -> Explorer:
    """Return an explorer of a training run of M3N, pass by pass.

    Above, the margins of ten training words' runners-up, and the errors; below, the dual variables of
    each word, and the bounds of the optimum.

    Returns
    -------
    Explorer
        The explorer: its time is ``passes`` of the solver; ``C`` is the price of violations.

    Examples
    --------
    >>> training_film().set(passes=0, C=0.3).summary.split(";")[0]
    'C = 0.3, after pass 0: 10 of 10 runners-up are too close, 10 of them level with the truth or ahead'
    """
    figure = new_figure(9.0, 5.9)
    (top, errors), (bottom, bounds) = figure.subplots(2, 2, width_ratios=[1.75, 1])
    with styled():
        show_margins, show_alpha = _draw_margins(top), _draw_alpha(bottom)
        show_errors, show_bounds = _draw_errors(errors), _draw_bounds(bounds)
    for constant in CONSTANTS:  # so that the slider answers at once
        training_frames(constant)

    def update(passes: int, C: float) -> str:
        every = training_frames(C)
        here, past = every[passes], every[: passes + 1]
        show_margins(here)
        show_alpha(here, C)
        show_errors(past)
        show_bounds(past)
        supports = int((here.alpha > 0).sum() - (here.on_truth > 0).sum())
        return (
            f"C = {C:g}, after pass {passes}: {here.short.sum()} of {N_WORDS} runners-up are too "
            f"close, {here.behind.sum()} of them level with the truth or ahead; "
            f"{supports} wrong labellings have dual variables above 0, {here.new.sum()} are "
            f"new, {here.gone.sum()} gone; {here.wrong} of {3 * N_WORDS} training letters wrong, "
            f"{here.test_error:.1%} of others; primal {here.primal:.3f}, dual "
            f"{here.dual:.3f}, gap {_percent(here.relative_gap)}."
        )

    def alt(passes: int, C: float) -> str:
        here = training_frames(C)[passes]
        return (
            f"Four panels after pass {passes} with C = {C:g}. For each of {N_WORDS} words the margin of "
            f"its runner-up against the margin wanted, {here.short.sum()} too close, and below it a "
            f"stack of its dual variables. On the right the errors over the passes, now {here.wrong} of "
            f"{3 * N_WORDS} training letters and {here.test_error:.1%} of others, and "
            f"primal and dual value, now {here.primal:.3f} and {here.dual:.3f}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=(
            "A training run of M3N, pass by pass. Top left: how far each training word's runner-up is "
            "behind the truth. Below it: the same word's dual variables. Right: the errors, and the "
            "two values between which the optimum lies. Read the two left panels together, word by "
            "word."
        ),
        lessons=[_over_fits, _agree, _rises],
        name="training-film",
        passes=Time(0, N_PASSES, 1, 2, label="passes", per_second=2),
        C=Choice(CONSTANTS, 0.3, label="C, the price of violations"),
    )


EXHIBIT = Exhibit("A training run as a film", "two-losses", training_film, 1)
