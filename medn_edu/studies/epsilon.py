"""The study ``epsilon``: from a CRF to a max-margin model on small grids (ASP, section 5).

The image "cup" has 10 x 10 pixels.  Ten noisy copies of it train and ten others test; in each copy every
pixel is flipped with probability 0.2.  A draw is such a set of copies.  Models are trained at four
temperatures, by our solver and by the paper's algorithm, its Fig. 1.  Of that there are two versions:
"in turn" moves one weight after the other, as in the paper, and "Fig. 1" all at once.  What our models
have learned then predicts at all four temperatures.  On "key", with 5 x 5 pixels, weights of each pixel
and edge are compared with shared ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import NOISES, draw_image, make_noisy_images
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.studies.grids import (
    ExactNetwork,
    GridNetwork,
    ImageModel,
    Vote,
    exact_labels,
    picture_of,
    picture_text,
)
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.summary import Column, groups, mean, mean_of, numbers, table, values
from medn_edu.studies.kit.texts import Texts, paragraphs
from medn_edu.studies.kit.trained import Trained

TEMPERATURES = (1.0, 0.5, 0.01, 0.0)
_C = 0.1
_OTHER_C = (1.0, 0.01)
_N_COPIES = 10  # that train, and as many that test
_N_DRAWS = {"quick": 1, "paper": 30}
_N_EXACT = {"quick": 0, "paper": 10}  # draws for the exact soft-max, which takes longest
_PASSES = 300  # of the paper's algorithm
_SHOWN = 1  # which test copy of the first draw the figure shows
_TOL = 1e-5
_TOL_AT_0 = 1e-2
_MOST, _MOST_AT_0 = 2000, 1000  # passes


def _name(epsilon: float) -> str:
    return f"epsilon = {epsilon:g}"


def _cooled(epsilon: float, **more: Any) -> GridNetwork:
    ends = {"tol": _TOL, "max_iter": _MOST}
    if epsilon == 0:
        ends = {"tol": _TOL_AT_0, "max_iter": _MOST_AT_0}
    return GridNetwork(epsilon=epsilon, **{**ends, **more})


OURS = {_name(epsilon): epsilon for epsilon in TEMPERATURES}
"""Temperatures of models with weights of each pixel and edge, trained by our solver."""
PAPERS = {f"Fig. 1, {name}": epsilon for name, epsilon in OURS.items()}
"""The same, trained by the paper's algorithm, but with all weights at once."""
IN_TURN = {f"in turn, {name}": epsilon for name, epsilon in OURS.items()}
"""The same, trained by the paper's algorithm, one weight after the other."""
EXACT = {f"exact, {_name(1.0)}": 1.0}
"""The same with the soft-max of all labellings."""
_SHARED = "shared"

_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        *(
            Model(name, partial(_cooled, epsilon), "weights of each pixel and edge, our solver")
            for name, epsilon in OURS.items()
        ),
        *(
            Model(
                name,
                partial(_cooled, epsilon, solver=solver, max_iter=_PASSES),
                f"the same, {what}",
            )
            for solver, names, what in (
                ("Fig. 1", PAPERS, "the paper's algorithm, but all weights at once"),
                ("in turn", IN_TURN, "the paper's algorithm, one weight after the other"),
            )
            for name, epsilon in names.items()
        ),
        *(
            Model(name, partial(ExactNetwork, epsilon=epsilon), "the same, nothing approximated")
            for name, epsilon in EXACT.items()
        ),
        *(
            Model(f"C = {C:g}", partial(_cooled, 1.0), "epsilon = 1 with another constant")
            for C in _OTHER_C
        ),
        Model(
            _SHARED,
            partial(_cooled, 1.0, share=True, differences=True),
            "four weights, shared by all pixels and by all edges, epsilon = 1",
        ),
        Model("vote", Vote, "the label of most training copies"),
    )
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    specs = []
    for draw in range(_N_DRAWS[scale]):
        on_cup = dict.fromkeys((*OURS, *PAPERS, *IN_TURN), _C) | {f"C = {C:g}": C for C in _OTHER_C}
        if draw < _N_EXACT[scale]:
            on_cup |= dict.fromkeys(EXACT, _C)
        for data, models in (("cup", on_cup), ("key", {_name(1.0): _C, _SHARED: _C})):
            specs += [
                FitSpec(data, draw, name, (("C", C),), seed=seed) for name, C in models.items()
            ]
            specs.append(FitSpec(data, draw, "vote", seed=seed))
    return specs


@lru_cache(maxsize=4)
def _copies(image: str, draw: int, seed: int) -> Split:
    rng, n = np.random.default_rng([seed, draw]), _N_COPIES
    noisy, y = make_noisy_images(draw_image(image), "flip", 2 * n, random_state=rng)
    images, labels = list(noisy - NOISES["flip"].centre), [copy.ravel() for copy in y]
    return Split(images[:n], labels[:n], images[n:], labels[n:])


def _split(spec: FitSpec) -> Split:
    return _copies(spec.data, spec.fold, spec.seed)


def _measure(spec: FitSpec, model: ImageModel) -> Row:
    """Count wrong pixels, also of predictions at other temperatures and of exact ones."""
    data = _split(spec)
    truth = np.concatenate(data.y_test)
    noisy = np.concatenate([image.ravel() > 0 for image in data.X_test])
    predicted = model.predict(data.X_test)

    def wrong(labels: np.ndarray) -> int:
        return int(np.sum(labels != truth))

    row = {
        "n_wrong": wrong(np.concatenate(predicted)),
        "n_pixels": len(truth),
        "n_flipped": wrong(noisy),
        "picture": picture_text(predicted[_SHOWN]),
    }
    if isinstance(model, GridNetwork):
        result = model.result_
        row |= {name: getattr(result, name) for name in ("primal", "dual", "gap", "status")}
        row["n_passes"] = result.n_passes
        if spec.model in OURS and spec.data == "cup":
            potentials = model.potentials(data.X_test)
            at = [wrong(model.decide(potentials, epsilon)) for epsilon in TEMPERATURES]
            row["wrong_at"] = " ".join(map(str, at))
            row["wrong_exactly"] = wrong(exact_labels(potentials, model.epsilon))
    return row


_MEASURED = (
    "n_wrong", "n_pixels", "n_flipped", "primal", "dual", "gap", "n_passes", "status", "wrong_at",
    "wrong_exactly", "picture",
)  # fmt: skip


# -- the figure -----------------------------------------------------------------------------------

_PICTURES = (
    ("epsilon = 1", "trained at 1"),
    ("epsilon = 0.01", "trained at 0.01"),
    ("epsilon = 0", "trained at 0"),
    ("in turn, epsilon = 0", "in turn at 0"),
    ("Fig. 1, epsilon = 0", "all at once at 0"),
)


def _draw(rows: Sequence[Row], path: Path) -> None:
    figure = new_figure(11, 8)
    with styled():
        strip, below = figure.subfigures(2, 1, height_ratios=[1.0, 2.6])
        pictures = strip.subplots(1, 2 + len(_PICTURES))
        _draw_pictures(pictures, rows)
        gaps, temperatures, weights = below.subplots(1, 3, width_ratios=[1.05, 1, 1.05])
        draw_gaps(gaps, rows)
        draw_temperatures(temperatures, rows)
        draw_errors(weights, rows)
        letter_panels((pictures[0], gaps, temperatures, weights), fontsize=10)
    save_figure(figure, path)


def _draw_pictures(axes: Sequence[Axes], rows: Sequence[Row]) -> None:
    image = draw_image("cup")
    first = {row["model"]: row for row in _on(rows, "cup") if row["fold"] == 0}
    noisy = _copies("cup", 0, next(iter(first.values())).get("seed") or 0).X_test[_SHOWN] > 0
    shown = [("image", image), ("a test copy", noisy)]
    for name, title in _PICTURES:
        shown.append((title, picture_of(first[name]["picture"], image.shape)))
    for ax, (title, pixels) in zip(axes, shown, strict=True):
        ax.imshow(1 - pixels, cmap="gray", vmin=0, vmax=1)
        wrong = int(np.sum(pixels != image))
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("" if title == "image" else f"{wrong} wrong")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.plot(
            *np.argwhere(pixels != image).T[::-1], "x", color=palette.VERMILION, markersize=6,
            markeredgewidth=1.8,
        )  # fmt: skip


def draw_gaps(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw the gap that is left at each temperature, one dot per draw, for each algorithm."""
    kinds = (
        (OURS, "ours", palette.BLUE, "o", -0.24),
        (IN_TURN, "Fig. 1, in turn", palette.GREEN, "^", 0.0),
        (PAPERS, "Fig. 1, all at once", palette.ORANGE, "s", 0.24),
    )
    for names, label, colour, marker, shift in kinds:
        places, gaps = [], []
        for place, name in enumerate(names):
            found = values([row for row in _on(rows, "cup") if row["model"] == name], "gap")
            places += list(place + shift + np.linspace(-0.08, 0.08, len(found)))
            gaps += list(np.maximum(found, 1e-9))
        ax.plot(places, gaps, marker, color=colour, markersize=3.5, label=label, alpha=0.8)
    ax.set_yscale("log")
    ax.set_xticks(range(len(TEMPERATURES)), [f"{epsilon:g}" for epsilon in TEMPERATURES])
    ax.set_xlabel("temperature epsilon of training")
    ax.set_title("Primal minus dual, at the end")
    ax.grid(axis="y")
    ax.legend()


def draw_temperatures(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw the errors of all temperatures of training and of prediction, as numbers in squares."""
    table_ = 100 * error_table(rows)
    ax.imshow(table_, cmap="Blues", vmin=0, vmax=max(25.0, float(table_.max())))
    for (i, j), value in np.ndenumerate(table_):
        ax.text(
            j, i, f"{value:.1f}", ha="center", va="center", color="white" if value > 14 else INK,
            fontweight="bold" if i == j else "normal",
        )  # fmt: skip
    names = [f"{epsilon:g}" for epsilon in TEMPERATURES]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("temperature of prediction")
    ax.set_ylabel("temperature of training")
    ax.set_title("Wrong test pixels, in %")


def error_table(rows: Sequence[Row]) -> np.ndarray:
    """Return the share of wrong pixels, a line for each temperature of training, over all draws."""
    lines = []
    for name in OURS:
        some = [row for row in _on(rows, "cup") if row["model"] == name]
        counts = np.sum([numbers(row["wrong_at"]) for row in some], axis=0)
        lines.append(counts / values(some, "n_pixels").sum())
    return np.array(lines)


def draw_errors(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw mean errors with their 95 % intervals, one line for each model."""
    lines = [line for line in _lines(rows) if line["n"]]
    for place, line in enumerate(lines):
        colour = palette.BLUE if line["data"] == "cup" else palette.GREEN
        ax.errorbar(
            100 * line["error"], place, xerr=100 * (line["half"] or 0.0), fmt="o", color=colour,
            capsize=2, markersize=5,
        )  # fmt: skip
    ax.set_yticks(range(len(lines)), [line["title"] for line in lines])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.axvline(20, color=MUTED, linestyle=":", linewidth=1)
    ax.set_xlabel("wrong test pixels, % (dotted: noise)")
    ax.set_title("Errors of all models")
    ax.grid(axis="x")


# -- the report -----------------------------------------------------------------------------------


def _on(rows: Sequence[Row], data: str) -> list[Row]:
    return [row for row in rows if row["data"] == data]


def _lines(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a line for each model and image: errors, gaps and times over draws."""
    place = {name: k for k, name in enumerate(_MODELS)}
    found = groups(rows, "data", "model", order=lambda key: (key[0], place[key[1]]))
    lines = []
    for (data, model), some in found.items():
        known = [row for row in some if row.get("error") is not None]
        errors = mean_of([row["error"] for row in known])
        lines.append(
            {
                "data": data,
                "model": model,
                "title": model if data == "cup" else f"5 x 5: {_FIVE.get(model, model)}",
                "n": errors.n,
                "wrong": int(values(known, "n_wrong").sum()),
                "pixels": int(values(known, "n_pixels").sum()),
                "error": errors.value,
                "half": errors.half,
                "train_error": mean(known, "train_error"),
                "primal": _median(known, "primal"),
                "gap": _median(known, "gap"),
                "passes": _median(known, "n_passes"),
                "seconds": _median(known, "cpu_seconds"),
                "exactly": _share(known, "wrong_exactly"),
            }
        )
    return lines


_FIVE = {"epsilon = 1": "65 weights", _SHARED: "4 shared weights"}


def _median(rows: Sequence[Row], column: str) -> float | None:
    found = values(rows, column)
    return float(np.median(found)) if len(found) else None


def _share(rows: Sequence[Row], column: str) -> float | None:
    some = [row for row in rows if row.get(column) is not None]
    return float(values(some, column).sum() / values(some, "n_pixels").sum()) if some else None


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def _interval(line: Any) -> str:
    half = line["half"]
    return _percent(line["error"]) + (f" ± {100 * half:.2f}" if half is not None else "")


_TABLE = (
    Column("image", "data"),
    Column("model", "model"),
    Column("draws", "n", "d", right=True),
    Column("wrong", lambda line: f"{line['wrong']:,} of {line['pixels']:,}", right=True),
    Column("test error", _interval, right=True),
    Column("exact prediction", "exactly", _percent, right=True),
    Column("training error", "train_error", _percent, right=True),
    Column("gap", "gap", ".2g", right=True),
    Column("passes", "passes", ".0f", right=True),
    Column("seconds", "seconds", ".2g", right=True),
)
_SUMMARY = (
    "data", "model", "n", "wrong", "pixels", "error", "half", "train_error", "gap", "passes",
    "exactly",
)  # fmt: skip
_TEXTS = Texts("epsilon.md")


def _report(rows: Sequence[Row], scale: str) -> Report:
    lines = _lines(rows)
    of = {(line["data"], line["model"]): line for line in lines}
    errors = error_table(rows)
    cold, warm = TEMPERATURES.index(0.01), TEMPERATURES.index(1.0)
    stuck, closed = of["cup", "Fig. 1, epsilon = 0"], of["cup", "epsilon = 0"]
    in_turn = of["cup", "in turn, epsilon = 0"]
    exact = of.get(("cup", "exact, epsilon = 1"))
    texts = [
        _TEXTS(
            "caption",
            draws=_draws(lines), C=_C, stuck=stuck["gap"], stuck_error=_percent(stuck["error"]),
            stuck_primal=stuck["primal"], in_turn_primal=in_turn["primal"],
            in_turn_error=_percent(in_turn["error"]), closed_primal=closed["primal"],
            closed=closed["gap"], closed_error=_percent(closed["error"]),
            own=_percent(errors[cold, cold]), warmer=_percent(errors[cold, warm]),
        ),
        _TEXTS(
            "weights",
            own=_percent(of["key", "epsilon = 1"]["error"]),
            shared=_percent(of["key", _SHARED]["error"]),
            vote=_percent(of["key", "vote"]["error"]), vote_cup=_percent(of["cup", "vote"]["error"]),
        ),
        _TEXTS(
            "exact", n=exact["n"], exact=_percent(exact["error"]),
            local=_percent(_on_same_draws(rows)),
        ) if exact else "",
        _TEXTS(
            "choices", tol=_TOL, tol_at_0=_TOL_AT_0, passes=_PASSES, most=_MOST, most_at_0=_MOST_AT_0
        ),
    ]  # fmt: skip
    found = table(_TABLE, lines)
    return Report(_SUMMARY, lines, found.text(), f"{paragraphs(*texts)}\n\n{found.markdown()}\n")


def _on_same_draws(rows: Sequence[Row]) -> float:
    """Return what local entropies err at epsilon = 1, on the draws of the exact soft-max."""
    [exact] = EXACT
    draws = {row["fold"] for row in rows if row["model"] == exact}
    some = [r for r in _on(rows, "cup") if r["model"] == _name(1.0) and r["fold"] in draws]
    return float(values(some, "n_wrong").sum() / values(some, "n_pixels").sum())


def _draws(lines: Sequence[Row]) -> str:
    """Return the number of draws of the model that has most."""
    n = max(line["n"] for line in lines)
    return f"{n} draw{'s' * (n > 1)}"


EPSILON = Study(
    "epsilon",
    "from CRFs to M3N on grids of 10 x 10 pixels",
    fits=_specs,
    fit=Trained(_split, _MODELS, _measure, _MEASURED),
    draw=_draw,
    report=_report,
    duration="quick 12 s, paper 6 min",
    shows="ASP 5",
    place=18,
)
"""The study."""
