"""Viterbi's algorithm on the word *axi*, cell by cell, and what each step does to the 27 paths.

A cell is a label of a letter.  Viterbi keeps only the best of all paths that reach it, because what
comes later adds the same to each of them.  So a path that loses once can never win.  Nine cells are
filled, from the first letter to the last.  Then three steps lead back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Slider, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.explorers.margins import segments
from medn_edu.theory.axi import AXI, HABIT, LETTERS, labelling_scores, text

N_CELLS, LAST = 9, 12
_GROUPED = np.lexsort(
    AXI.labellings.T
)  # by the last letter, then the second: who meets stands together
_PATHS = AXI.labellings[_GROUPED]
_NOWHERE = np.array([np.nan, np.nan])


@dataclass(frozen=True, eq=False)
class ViterbiTable:
    """The table of Viterbi's algorithm, and the 27 paths, grouped by their endings."""

    best: np.ndarray  # V: the best score of a path to each label (column) of each letter (row)
    options: np.ndarray  # what the labels before (second axis) offer each cell, from letter 2 on
    pointers: np.ndarray  # label before on the best path to each cell, from letter 2 on
    scores: np.ndarray  # of all paths

    @property
    def path(self) -> list[int]:
        """The best path, found by following the pointers back."""
        labels = [int(self.best[2].argmax())]
        for pointer in self.pointers[::-1]:
            labels.insert(0, int(pointer[labels[0]]))
        return labels

    def alive(self, step: int) -> np.ndarray:
        """Say which paths have not lost after some steps: one truth value per path."""
        alive = np.ones(len(_PATHS), dtype=bool)
        for t, label in (divmod(cell, 3) for cell in range(3, min(step, N_CELLS))):
            here = _PATHS[:, t] == label
            alive[here & (_PATHS[:, t - 1] != self.pointers[t - 1, label])] = False
        if step > N_CELLS:
            alive &= _PATHS[:, 2] == self.path[2]
        return alive

    def met(self, step: int) -> np.ndarray:
        """Say which paths meet in the cell that is filled in this step."""
        if not 3 < step <= N_CELLS:
            return np.zeros(len(_PATHS), dtype=bool)
        t, label = divmod(step - 1, 3)
        return np.asarray((_PATHS[:, t] == label) & self.alive(step - 1))


@lru_cache(maxsize=1024)
def viterbi_table(ink: float, habit: float) -> ViterbiTable:
    """Fill the table for the word *axi*, letter by letter."""
    node, edge = ink * AXI.ink, habit * HABIT
    best, options = [node[0]], []
    for here in node[1:]:
        options.append((best[-1][:, None] + edge).T)
        best.append(here + options[-1].max(axis=1))
    # scores that are alike but for rounding must be a tie: the first of them is kept
    kept = np.round(options, 9).argmax(axis=2)
    scores = labelling_scores(AXI, [ink, habit])[_GROUPED]
    return ViterbiTable(np.round(best, 9), np.round(options, 9), kept, scores)


def _draw_paths(ax: Axes) -> Callable[[ViterbiTable, int], None]:
    """Draw all 27 paths as bars, in the groups that meet, and mark those that are out."""
    at = np.array([k + 0.8 * (k // 9) + 0.25 * (k // 3) for k in range(27)])
    bars = ax.hlines(at, 0, 1, lw=6)
    (out,) = ax.plot(_NOWHERE, _NOWHERE, "x", color=MUTED, ms=5, mew=1.2)
    for k, y in enumerate(at):
        name = {"va": "center", "ha": "right", "fontsize": 9, "family": "monospace", "zorder": 9}
        ax.text(-0.25, y, text(_PATHS[k]), **name)
    ax.set(xlim=(-0.1, 14), ylim=(at[-1] + 0.8, -0.8), xticks=[0, 5, 10], yticks=[])
    ax.set_xlabel("score of the whole path")
    for label in range(3):
        y, words = at[9 * label + 4], f"ends in {LETTERS[label]}"
        ax.text(-2.6, y, words, rotation=90, ha="right", va="center", color=MUTED, zorder=9)
    ax.spines["left"].set_visible(False)
    title = ax.set_title("", y=1.0)

    def show(table: ViterbiTable, step: int) -> None:
        alive, met = table.alive(step), table.met(step)
        bars.set_segments([[(0, y), (score, y)] for y, score in zip(at, table.scores, strict=True)])
        blue, lost = palette.BLUE, palette.FAINT_GREY
        states = np.where(alive & met, palette.BLUE, np.where(met, palette.ORANGE, ""))
        bars.set_color(
            [now or (blue if kept else lost) for now, kept in zip(states, alive, strict=True)]
        )
        bars.set_linewidth([7 if now else 4 for now in states])
        out.set_data(table.scores[~alive] + 0.3, at[~alive])
        title.set_text(f"{alive.sum()} of 27 paths are left")

    return show


def _draw_table(ax: Axes) -> Callable[[ViterbiTable, int], None]:
    """Draw the cells with V, the three offers to the newest cell, and the pointers back."""
    cells = [(t, label) for t in range(3) for label in range(3)]
    (offers,) = ax.plot(_NOWHERE, _NOWHERE, "--", color=palette.ORANGE, lw=2, zorder=1)
    (pointers,) = ax.plot(_NOWHERE, _NOWHERE, "-", color=palette.BLUE, lw=1.6, zorder=2)
    (back,) = ax.plot(_NOWHERE, _NOWHERE, "-", color=palette.BLUE, lw=6, zorder=3)
    ax.plot(*np.transpose(cells), "s", ms=37, mfc="white", mec=palette.GREY, zorder=4)
    (newest,) = ax.plot(_NOWHERE, _NOWHERE, "s", ms=38, mfc="#CFE3F0", mec=INK, mew=2, zorder=5)
    values = [ax.text(*cell, "", ha="center", va="center", fontsize=12, zorder=6) for cell in cells]
    sums = [ax.text(0, 0, "", ha="center", va="center", fontsize=9, zorder=7) for _ in range(3)]
    for offer in sums:
        offer.set_bbox({"fc": "white", "ec": "none", "pad": 1.0})
    for t, letter in enumerate(AXI.word):
        name = {"ha": "center", "color": MUTED, "zorder": 9}
        ax.text(t, -0.62, f"letter {t + 1} ({letter})", va="bottom", **name)
    ax.set(xlim=(-0.45, 2.45), ylim=(3.05, -0.95), xticks=[])
    ax.set_yticks(range(3), LETTERS)
    ax.tick_params(axis="y", length=0, labelsize=12)
    ax.spines[["left", "bottom"]].set_visible(False)
    title = ax.set_title("", y=1.0)
    formula = ax.text(1, 2.75, "", ha="center", va="center", fontsize=11)

    def show(table: ViterbiTable, step: int) -> None:
        filled = min(step, N_CELLS)
        for k, ((t, label), value) in enumerate(zip(cells, values, strict=True)):
            value.set_text(f"{table.best[t, label]:.1f}" if k < filled else "")
        kept = [(t - 1, int(table.pointers[t - 1, label]), label) for t, label in cells[3:filled]]
        pointers.set_data(*segments(kept))
        t, label = cells[max(filled - 1, 0)]
        meeting = t > 0 and step <= N_CELLS
        offers.set_data(*segments([(t - 1, a, label) for a in range(3)] if meeting else []))
        for a, offer in enumerate(sums):
            offer.set_visible(meeting)
            offer.set_position((t - 0.62, a + 0.38 * (label - a)))
            offer.set_text(f"{table.options[t - 1, label, a]:.1f}" if meeting else "")
            wins = meeting and a == table.pointers[t - 1, label]
            offer.set_fontweight("bold" if wins else "normal")
        followed = max(step - N_CELLS, 0)  # letters of the way back
        path = table.path
        back.set_data(range(3 - followed, 3), path[3 - followed :])
        seen = [(s, path[s]) for s in range(3 - followed, 3)] or ([(t, label)] if step else [])
        newest.set_data(*np.transpose(seen) if seen else _NOWHERE[:, None])
        title.set_text(_headline(step))
        formula.set_text(_formula(table, step).replace(") = ", ")\n= "))  # room is narrow

    return show


def _headline(step: int) -> str:
    if not step:
        return "An empty table of 9 cells"
    if step > N_CELLS:
        return f"The way back, letter {LAST + 1 - step}"
    t, label = divmod(step - 1, 3)
    return f"Cell {step} of 9: letter {t + 1}, label {LETTERS[label]}"


def _formula(table: ViterbiTable, step: int) -> str:
    """Return what a step computes, in numbers."""
    if not step:
        return ""
    if step > N_CELLS:
        found = text(table.path[LAST - step :])
        largest = (
            f"the largest is {table.best[2].max():.1f}"
            if step == N_CELLS + 1
            else "follow the pointer"
        )
        return f"{largest}: {found.rjust(3, '·')}"
    t, label = divmod(step - 1, 3)
    value = f"{table.best[t, label]:.1f}"
    if not t:
        return f"V = {value} (the ink alone)"
    offered = table.options[t - 1, label]
    ink = abs(table.best[t, label] - offered.max())  # no minus where rounding makes it 0
    offers = ", ".join(f"{each:.1f}" for each in offered)
    tie = " (a tie)" if (offered == offered.max()).sum() > 1 else ""
    before = LETTERS[table.pointers[t - 1, label]]
    return f"V = {ink:.1f} + max({offers}) = {value}, from {before}{tie}"


@lesson(
    "The three cells of letter 2 rule out 18 of the 27 paths: 9 are left, three for each ending.",
    {"step": 6, "ink": 1.0, "habit": 1.0},
)
def _eighteen_are_out(step: int, ink: float, habit: float) -> bool:
    alive = viterbi_table(ink, habit).alive(step).reshape(3, 3, 3)
    return bool((alive.sum(axis=2) == 1).all() and (alive == alive[:1]).all())


@lesson(
    "After two letters aa and ax are level. Both are kept, because they end in different labels.",
    {"step": 6, "ink": 1.0, "habit": 1.0},
)
def _level(step: int, ink: float, habit: float) -> bool:
    table = viterbi_table(ink, habit)
    begins = {text(path[:2]) for path in _PATHS[table.alive(step)]}
    return bool(step >= 6 and table.best[1, 0] == table.best[1, 1] and {"aa", "ax"} <= begins)


@lesson(
    "Nothing better was thrown away: the one path left has the largest of all 27 scores. With "
    "w₂ = 0.3 it's aai.",
    {"step": LAST, "ink": 1.0, "habit": 0.3},
)
def _best_of_all(step: int, ink: float, habit: float) -> bool:
    table = viterbi_table(ink, habit)
    (left,) = np.nonzero(table.alive(step))
    alone = len(left) == 1 and bool(np.isclose(table.scores[left[0]], table.scores.max()))
    return alone and text(_PATHS[left[0]]) == text(table.path) == "aai"


def viterbi_steps() -> Explorer:
    """Return an explorer of Viterbi's algorithm on the word *axi*, one cell of the table per step.

    On the left all 27 paths with their scores, and which of them can still be the best; on the right
    the table, with the three offers to the newest cell and the pointers back.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``, nine cells and three steps back; ``ink`` and ``habit`` are
        the weights.

    Examples
    --------
    >>> viterbi_steps().set(step=12, ink=1.0, habit=1.0).summary.partition("; ")[0]
    'w = (1.0, 1.0), step 12, the way back, letter 1: follow the pointer: axi'
    """
    figure = new_figure(8.6, 5.0)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    with styled():
        show_paths, show_table = _draw_paths(left), _draw_table(right)

    def update(step: int, ink: float, habit: float) -> str:
        table = viterbi_table(ink, habit)
        show_paths(table, step)
        show_table(table, step)
        headline, formula = _headline(step), _formula(table, step)
        what = f"{headline[0].lower()}{headline[1:]}" + (f": {formula}" if formula else "")
        given = f"w = ({ink:.1f}, {habit:.1f}), step {step}"
        return f"{given}, {what}; {table.alive(step).sum()} of 27 paths can still be the best."

    def alt(step: int, ink: float, habit: float) -> str:
        table, formula = viterbi_table(ink, habit), _formula(viterbi_table(ink, habit), step)
        return (
            f"Left, 27 bars, the scores of all paths with w = ({ink:.1f}, {habit:.1f}), in three groups "
            f"by their last label; still in: {table.alive(step).sum()}. Right, a table of three "
            f"letters by three labels with {min(step, N_CELLS)} of 9 cells filled"
            + (f": {formula}." if formula else ".")
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=(
            "On the left, the scores of all 27 paths; a × marks a path that can no longer be the best. "
            "On the right, Viterbi's table: the newest cell compares three offers, keeps the solid one "
            "and drops the dashed ones. Notice how many paths a single comparison rules out."
        ),
        lessons=[_eighteen_are_out, _level, _best_of_all],
        name="viterbi-steps",
        step=Time(0, LAST, 1, 5, label="step", per_second=1),
        ink=Slider(0.5, 1.5, 0.1, 1.0, label="w₁, weight of the ink"),
        habit=Slider(0.0, 1.5, 0.1, 1.0, label="w₂, weight of the habit"),
    )


EXHIBIT = Exhibit("27 paths become 9 steps", "structured-prediction", viterbi_steps, -1)
