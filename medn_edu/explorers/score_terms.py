"""The score of a labelling, split into its terms: three of ink, two of habit.

The word is *axi* of `medn_edu.theory.axi`.  The reader chooses a labelling and both weights.  Each
letter adds ``w_1`` times the ink of its label, and each pair of neighbours adds ``w_2`` if the script
likes it.  Counted per weight, the same terms are ``w . f(x, y)``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Slider, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.explorers.losses import with_minus
from medn_edu.explorers.margins import segments
from medn_edu.theory.axi import AXI, HABIT, LETTERS, labelling_scores, text

N_TERMS = 5
_LOW, _HIGH = -6.2, 20.0  # scores, with room for a number
_LONG = 10  # a bar in which there is room for a number and a name


@dataclass(frozen=True, eq=False)
class TermsFrame:
    """A labelling of *axi* and what its parts add to the score."""

    codes: tuple[int, ...]
    counts: np.ndarray  # ink of the three letters, then 1 for each liked pair; shape (5,)
    terms: np.ndarray  # the counts times their weights
    scores: np.ndarray  # of all labellings, in the order of ``AXI.labellings``

    @property
    def sums(self) -> np.ndarray:
        """Sum of the first 0, 1, ... 5 terms; the last one is the score."""
        return np.concatenate([[0.0], np.cumsum(self.terms)])

    @property
    def best(self) -> list[int]:
        """Rows of the best labellings: one, or several where scores are alike."""
        return [int(row) for row in np.flatnonzero(self.scores > self.scores.max() - 1e-9)]


def terms_frame(labelling: str, ink: float, habit: float) -> TermsFrame:
    """Take the score of a labelling of *axi* apart."""
    codes = tuple(LETTERS.index(label) for label in labelling)
    counts = np.array([*AXI.ink[range(3), codes], *HABIT[codes[:-1], codes[1:]]])
    weights = np.array([ink] * 3 + [habit] * 2)
    return TermsFrame(codes, counts, weights * counts, labelling_scores(AXI, [ink, habit]))


def _number(value: float) -> str:
    return with_minus(value, 1)


def _draw_word(ax: Axes) -> Callable[[TermsFrame, int, float, float], None]:
    """Draw the ink of all labels, the labels chosen, and the terms under and between the letters."""
    still = {"ha": "center", "zorder": 9}  # above what moves, and so drawn only once
    for t, letter in enumerate(AXI.word):
        ax.text(t, -1.35, letter, fontsize=15, style="italic", **still)
        ax.text(t, -0.85, f"letter {t + 1}", fontsize=9, color=MUTED, **still)
        for label in range(3):
            ax.text(t, label, f"{AXI.ink[t, label]:.0f}", va="center", **still)
    for y, words in ((-1.35, "truth"), (2.85, "ink × w₁"), (3.4, "habit × w₂")):
        ax.text(-0.6, y, words, ha="right", va="baseline", color=MUTED, zorder=9)
    ax.plot(*np.mgrid[:3, :3].reshape(2, -1), "o", ms=21, mfc="white", mec=palette.GREY, zorder=0)
    (path,) = ax.plot(range(3), [0, 0, 0], "-", color=palette.ORANGE, lw=4, zorder=1)
    (nodes,) = ax.plot(range(3), [0, 0, 0], "o", ms=23, color=palette.SKY, mec=INK, zorder=3)
    places = [(t, 2.85) for t in range(3)] + [(t + 0.5, 3.4) for t in range(2)]
    terms = [ax.text(*place, "", ha="center", fontsize=9) for place in places]
    ax.set(xlim=(-0.5, 2.5), ylim=(3.6, -1.7), xticks=[])
    ax.set_yticks(range(3), LETTERS)
    ax.tick_params(axis="y", length=0, labelsize=12, pad=8)
    ax.spines[["left", "bottom"]].set_visible(False)
    title = ax.set_title("", y=1.0)

    def show(frame: TermsFrame, n: int, ink: float, habit: float) -> None:
        title.set_text(f"The labelling {text(frame.codes)}")
        nodes.set_ydata(frame.codes)
        liked = np.flatnonzero(frame.counts[3:]).tolist()
        path.set_data(*segments([(t, *frame.codes[t : t + 2]) for t in liked]))
        for k, term in enumerate(terms):
            term.set_text(f"{frame.counts[k]:.0f} × {_number(ink if k < 3 else habit)}")
            term.set_color(INK if k < n else MUTED)
            term.set_fontweight("bold" if k < n else "normal")

    return show


def _draw_sum(ax: Axes) -> Callable[[TermsFrame, int, str], None]:
    """Draw the terms as bars, each from where the last one ends, their sum, and the best score."""
    looks = [{"fc": palette.SKY}] * 3 + [{"fc": palette.ORANGE, "hatch": "////"}] * 2
    looks += [{"fc": palette.PALE_GREY}, {"fc": "white", "ls": "--"}]
    rows = range(len(looks))
    bars = [ax.add_patch(Rectangle((0, k - 0.34), 0, 0.68, ec=INK, **looks[k])) for k in rows]
    values = [ax.text(0, k, "", va="center") for k in rows]
    values[N_TERMS].set_fontweight("bold")
    (steps,) = ax.plot([0], [0], "-", color=MUTED, lw=0.8, zorder=0)
    ax.axvline(0, color=MUTED, lw=0.8, zorder=0)
    names = [f"ink of letter {t + 1}" for t in range(3)]
    names += [f"habit of\nletters {t + 1}, {t + 2}" for t in range(2)]
    ax.set_yticks(rows, [*names, "sum so far", "best of 27"])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(_LOW, _HIGH), ylim=(6.5, -0.6), xlabel="score")
    ax.spines["left"].set_visible(False)
    title = ax.set_title("", y=1.0)

    def show(frame: TermsFrame, n: int, counted: str) -> None:
        sums, top = frame.sums, frame.scores.max()
        title.set_text(counted.replace(" + ", "\n+ "))  # room is narrow
        starts, ends = [*sums[:-1], 0.0, 0.0], [*sums[1:], sums[n], top]
        for k, (bar, value) in enumerate(zip(bars, values, strict=True)):
            bar.set_visible(k < n or k >= N_TERMS)
            bar.set_x(starts[k])
            bar.set_width(ends[k] - starts[k])
            value.set_visible(bar.get_visible())
            value.set_text(_number(ends[k] - starts[k]))
            value.set_x(max(starts[k], ends[k], 0.0) + 0.3)  # never across the line at 0
        names = [text(AXI.labellings[row]) for row in frame.best]
        values[-1].set_text(
            f"{_number(top)}, {names[0] if len(names) == 1 else f'{len(names)} tie'}"
        )
        inside = top > _LONG
        values[-1].set_x(top - 0.3 if inside else max(top, 0.0) + 0.3)
        values[-1].set_ha("right" if inside else "left")
        below = [*range(1, n), N_TERMS][:n]
        steps.set_data(
            [x for end in sums[1 : n + 1] for x in (end, end, np.nan)],
            [y for k, to in enumerate(below) for y in (k, to, np.nan)],
        )

    return show


def _values(first: str, second: str, third: str, ink: float, habit: float) -> TermsFrame:
    return terms_frame(first + second + third, ink, habit)


_AXI = {"first": "a", "second": "x", "third": "i"}


@lesson(
    "After the three ink terms aai leads axi by 8 to 7. The two habit terms put axi ahead.",
    {**_AXI, "terms": 5, "ink": 1.0, "habit": 1.0},
)
def _habit_turns(terms: int, first: str, second: str, third: str, ink: float, habit: float) -> bool:
    here, rival = _values(first, second, third, ink, habit), terms_frame("aai", ink, habit)
    behind = here.sums[3] < rival.sums[3]
    return bool(behind and here.sums[terms] > rival.sums[terms])


@lesson(
    "Changing the middle label of axi changes three of the five terms: its ink, and the pair on each "
    "side.",
    {**_AXI, "second": "a", "terms": 5, "ink": 1.0, "habit": 1.0},
)
def _three_change(
    terms: int, first: str, second: str, third: str, ink: float, habit: float
) -> bool:
    here, axi = _values(first, second, third, ink, habit), terms_frame("axi", ink, habit)
    return bool((here.terms != axi.terms).tolist() == [False, True, False, True, True])


@lesson(
    "With a negative w₂ each liked pair takes something away: the bar moves back, and aai is best.",
    {**_AXI, "terms": 5, "ink": 1.0, "habit": -0.5},
)
def _takes_away(terms: int, first: str, second: str, third: str, ink: float, habit: float) -> bool:
    here = _values(first, second, third, ink, habit)
    wins = [text(AXI.labellings[row]) for row in here.best] == ["aai"]
    return bool(wins and here.sums[terms] < here.sums[3])


def score_terms() -> Explorer:
    """Return an explorer of the score of one labelling of the word *axi*, taken apart.

    On the left the labels chosen, with the terms that they make; on the right the terms one after
    another, as bars that add up to the score.

    Returns
    -------
    Explorer
        The explorer: its time is ``terms``, how many have been added up; ``first``, ``second`` and
        ``third`` are the labels, ``ink`` and ``habit`` the weights.

    Examples
    --------
    >>> score_terms().set(second="a", terms=5, ink=1.0, habit=1.0).summary
    'The labelling aai: ink 8 × 1.0 + habit 0 × 1.0 = 8.0; best of 27 is axi with 9.0.'
    """
    figure = new_figure(8.6, 3.9)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
    with styled():
        show_word, show_sum = _draw_word(left), _draw_sum(right)

    def update(terms: int, first: str, second: str, third: str, ink: float, habit: float) -> str:
        frame = _values(first, second, third, ink, habit)
        show_word(frame, terms, ink, habit)
        inks, habits = (f"{part.sum():.0f}" for part in (frame.counts[:3], frame.counts[3:]))
        counted = f"ink {inks} × {_number(ink)} + habit {habits} × {_number(habit)}"
        counted += f" = {_number(frame.sums[-1])}"
        show_sum(frame, terms, counted)
        so_far = (
            "" if terms == N_TERMS else f", {_number(frame.sums[terms])} after {terms} of 5 terms"
        )
        best = " and ".join(text(AXI.labellings[row]) for row in frame.best[:2])
        more = f" and {len(frame.best) - 2} more" if len(frame.best) > 2 else ""
        return (
            f"The labelling {text(frame.codes)}: {counted}{so_far}; "
            f"best of 27 is {best}{more} with {_number(frame.scores.max())}."
        )

    def alt(terms: int, first: str, second: str, third: str, ink: float, habit: float) -> str:
        frame = _values(first, second, third, ink, habit)
        return (
            f"Left, the word axi as a table of ink, three letters by three labels, with the labels of "
            f"{text(frame.codes)} marked and its liked pairs joined. Right, {terms} of its 5 terms as "
            f"bars, each from where the last one ends, and their sum; all five make "
            f"{_number(frame.sums[-1])}. A hollow bar is the best score of 27 labellings, "
            f"{_number(frame.scores.max())}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=(
            "On the left, the ink of every label and the labelling you choose. On the right, its five "
            "terms, added up one after another. Notice that each term looks at one letter, or at one "
            "pair of neighbours, and never at more."
        ),
        lessons=[_habit_turns, _three_change, _takes_away],
        name="score-terms",
        terms=Time(0, N_TERMS, 1, N_TERMS, label="terms added up", per_second=1),
        first=Choice(list(LETTERS), "a", label="label of letter 1"),
        second=Choice(list(LETTERS), "x", label="label of letter 2"),
        third=Choice(list(LETTERS), "i", label="label of letter 3"),
        ink=Slider(-0.5, 1.5, 0.1, 0.5, label="w₁, weight of the ink"),
        habit=Slider(-1.0, 2.0, 0.1, 0.8, label="w₂, weight of the habit"),
    )


EXHIBIT = Exhibit("A score falls apart into its terms", "structured-prediction", score_terms, -2)
