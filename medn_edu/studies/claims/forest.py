"""The forest plot of the ledger: every effect in points, with its interval, by question."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.studies.claims.claim import AS_RUN, QUESTIONS
from medn_edu.studies.claims.judging import Judgement
from medn_edu.studies.claims.ledger import Entry, Ledger

_LOOKS = {  # marker, how far it is moved down, and whether it is filled
    "printed": ("s", 0.2, False),
    "optimum": ("D", 0.2, False),
    "fair": ("o", -0.1, True),
    AS_RUN: ("o", 0.0, True),
}


def draw_forest(ledger: Ledger, path: Path) -> Path:
    """Draw the effects of all claims that have one in points; fair ones filled, others hollow."""
    lines: list[Entry | str] = []
    for number, (name, question) in enumerate(QUESTIONS.items(), 1):
        here = [
            entry
            for entry in ledger.entries.values()
            if entry.claim.question == name and entry.judgement.shown.unit == "points"
        ]
        lines += [f"{number}. {question['text']}", *here] if here else []
    figure = new_figure(11, 0.21 * len(lines) + 1.2)
    with styled():
        ax = figure.subplots()
        beside = blended_transform_factory(ax.transAxes, ax.transData)
        for y, line in enumerate(lines):
            if isinstance(line, str):
                ax.axhspan(y - 0.5, y + 0.5, color=MUTED, alpha=0.15, linewidth=0)
                ax.text(0.01, y, line, transform=beside, va="center", weight="bold", fontsize=9)
            else:
                _draw(ax, y, line.judgement)
        ax.axvline(0, color=INK, linewidth=1, zorder=0.5)
        ax.set_xscale("symlog", linthresh=2)
        names = {y: line.claim.name for y, line in enumerate(lines) if isinstance(line, Entry)}
        ax.set_yticks(list(names), list(names.values()), fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([-30, -10, -5, -2, -1, 0, 1, 2, 5, 10, 30])
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")
        ax.set(ylim=(len(lines) - 0.4, -0.6), xlabel="points of wrong labels")
        ax.grid(axis="x")
    return save_figure(figure, path)


def _draw(ax: Axes, y: float, judgement: Judgement) -> None:
    """Draw the effects of a claim: the one that the page shows, with its interval, and others."""
    shown = judgement.shown
    low, high = shown.interval or (shown.effect, shown.effect)
    for reading, variants in judgement.variants.items():
        marker, shift, filled = _LOOKS[reading]
        style = {"color": MUTED, "markerfacecolor": "white", "markersize": 4, "linestyle": "none"}
        if not filled:
            effects = {each.effect for each in variants} - {None, shown.effect}
            ax.plot([*effects], [y + shift] * len(effects), marker, **style)
        if reading == judgement.reading:
            style.update(color=INK, markersize=5, markerfacecolor=INK if filled else "white")
            ax.plot([low, high], [y + shift] * 2, color=INK, linewidth=1.6, linestyle="-")
            ax.plot(shown.effect, y + shift, marker, **style)
