"""The study ``denoising``: four images of 64 x 64 pixels under two noises (ASP, Fig. 2-4).

Forty noisy copies of an image train and ten others test, as in the paper, whose four images could not be
found; ours are drawn.  "ours" is the paper's model: a weight for each pixel and each edge.  Its rivals
share their weights.

All copies show the same image, so that weights of its own let a pixel remember it.  On new random
images nothing can be remembered: there all models share their weights, and every image is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from medn_edu.datasets import (
    DENOISING_IMAGES,
    NOISES,
    draw_image,
    make_noisy_images,
    make_random_images,
)
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import local_polytope, min_cut
from medn_edu.studies.grids import (
    GridNetwork,
    ImageModel,
    MinimumCut,
    SharedNetwork,
    Threshold,
    Vote,
    picture_of,
    picture_text,
)
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.summary import (
    Column,
    groups,
    mean_of,
    numbers,
    numbers_text,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, listed, paragraphs
from medn_edu.studies.kit.trained import Trained

NOISY = ("gaussian", "bimodal")
_C = 1.0
_OTHER_C = (10.0, 0.1, 0.01)
_SIZES = {"cup": (10, 4)}  # copies that train and test; otherwise the paper's 40 and 10
_NEW = {16: (8, 4), 32: (20, 20)}  # new images that train and test, by their sides
_N_DRAWS = {"quick": 1, "paper": 5}  # of new images
_TOL = 1e-3


def _centre(noise: str) -> float:
    """Return the midpoint between the mean pixels of both classes."""
    classes = NOISES[noise].classes
    return sum(w * m for parts in classes for w, m, _ in parts) / len(classes)


# -- models ---------------------------------------------------------------------------------------

RIVALS = tuple(f"{how}-{by}" for how in ("LBP", "MF") for by in ("SGD", "SMD", "BFGS"))
"""The paper's rivals: an approximate likelihood, and what minimises it."""
OURS, FIG_1, PSEUDO = "ours", "Fig. 1", "pseudo-likelihood"
PIXELS, THRESHOLD = "pixels alone", "threshold"
NEW_OURS: dict[str, dict[str, Any]] = {
    "epsilon = 1": {},
    "epsilon = 0.1": {"epsilon": 0.1},
    "epsilon = 0": {"epsilon": 0.0, "tol": 1e-2, "max_iter": 300},
    "conditional": {"counting_numbers": "conditional"},
    "trw": {"counting_numbers": "trw"},
    "convexified Bethe": {"counting_numbers": "convexified-bethe"},
}
"""The paper's program with shared weights: temperatures, and other counting numbers at epsilon = 1."""
_DIFFERENCES = " + differences"

_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(OURS, partial(GridNetwork, tol=_TOL), "weights of each pixel and edge"),
        Model(
            f"{OURS}, traced",
            partial(GridNetwork, tol=1e-5, max_iter=60, traced=True),
            "the same, every pass certified",
        ),
        Model(
            FIG_1,
            partial(GridNetwork, tol=1e-5, max_iter=60, traced=True, solver="Fig. 1"),
            "the same, by the paper's algorithm",
        ),
        *(
            Model(f"{OURS}, C = {C:g}", partial(GridNetwork, tol=_TOL), "another constant")
            for C in _OTHER_C
        ),
        *(
            Model(name, partial(SharedNetwork, name), "shared weights, features 1 and x")
            for name in RIVALS
        ),
        Model(PSEUDO, partial(SharedNetwork, "PL-BFGS"), "shared weights, pseudo-likelihood"),
        Model(PIXELS, partial(SharedNetwork, "pixels"), "logistic regression of each pixel"),
        Model(THRESHOLD, Threshold, "the pixel value from which on training pixels are mostly 1"),
        Model("vote", Vote, "the training labels of each pixel, without a look at the image"),
        *(
            Model(
                f"{name}{_DIFFERENCES}",
                partial(SharedNetwork, method, differences=True),
                "the same, with |x_u - x_v| as a feature of edges",
            )
            for name, method in (
                ("LBP-BFGS", "LBP-BFGS"), ("MF-BFGS", "MF-BFGS"), (PSEUDO, "PL-BFGS"),
            )
        ),
        *(
            Model(
                name,
                partial(GridNetwork, share=True, differences=True, **{"tol": _TOL, **how}),
                "the paper's program, shared weights",
            )
            for name, how in NEW_OURS.items()
        ),
        Model("minimum cut", MinimumCut, "edges of pixels alone, chosen on validation images"),
    )
}  # fmt: skip
_REMEMBERING = (OURS, *(f"{OURS}, C = {C:g}" for C in _OTHER_C))


# -- data -----------------------------------------------------------------------------------------


def _specs(scale: str, seed: int) -> list[FitSpec]:
    images, side = (("cup",), 16) if scale == "quick" else (DENOISING_IMAGES, 32)
    constants = {OURS: _C, f"{OURS}, traced": _C, FIG_1: _C}
    constants |= {f"{OURS}, C = {C:g}": C for C in _OTHER_C}
    specs = []

    def add(data: str, draw: int, models: Sequence[str]) -> None:
        for name in models:
            given = (("C", constants[name]),) if name in constants else ()
            specs.append(FitSpec(data, draw, name, given, seed=seed))

    for noise in NOISY:
        for image in images:
            add(f"{noise}-{image}", 0, (*_REMEMBERING, *RIVALS, PSEUDO, PIXELS, THRESHOLD, "vote"))
        add(f"{noise}-{images[0]}", 0, (f"{OURS}, traced", FIG_1))
        add(f"{noise}-{images[0]}-raw", 0, (OURS,))
        new = ("LBP-BFGS", "MF-BFGS", PSEUDO)
        shared = (PIXELS, THRESHOLD, *new, *(f"{name}{_DIFFERENCES}" for name in new))
        for draw in range(_N_DRAWS[scale]):
            add(f"{noise}-new-{side}", draw, (*shared, *NEW_OURS, "minimum cut", OURS))
    return specs


@lru_cache(maxsize=4)
def _images(data: str, draw: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return noisy images, their pixels, and how many train."""
    noise, what, *more = data.split("-")
    rng = np.random.default_rng([seed, draw])
    if what == "new":
        side = int(more[0])
        n_train, n_test = _NEW[side]
        clean = make_random_images(n_train + n_test, (side, side), random_state=rng)
        X, y = make_noisy_images(clean, noise, random_state=rng)
    else:
        n_train, n_test = _SIZES.get(what, (40, 10))
        X, y = make_noisy_images(draw_image(what), noise, n_train + n_test, random_state=rng)
    return X - (0.0 if "raw" in more else _centre(noise)), y, n_train


def _split(spec: FitSpec) -> Split:
    X, y, n = _images(spec.data, spec.fold, spec.seed)
    labels = [image.ravel() for image in y]
    return Split(list(X[:n]), labels[:n], list(X[n:]), labels[n:])


_SHOWN = (OURS, "LBP-BFGS", "epsilon = 1", PIXELS)


def _measure(spec: FitSpec, model: ImageModel) -> Row:
    """Count wrong pixels; keep the picture of the first test image, and the trace of training."""
    data = _split(spec)
    predicted = model.predict(data.X_test)
    wrong = [int(np.sum(a != b)) for a, b in zip(predicted, data.y_test, strict=True)]
    row: Row = {"n_wrong": sum(wrong), "n_pixels": sum(map(len, data.y_test))}
    if spec.model in _SHOWN:
        row["picture"] = picture_text(predicted[0])
    if isinstance(model, GridNetwork):
        result = model.result_
        row |= {"primal": result.primal, "dual": result.dual, "gap": result.gap}
        if model.traced:
            found = model.certificates_
            row["primals"] = numbers_text([one.primal for one in found], ".9g")
            row["duals"] = numbers_text([one.dual for one in found], ".9g")
    if spec.model == "epsilon = 0":
        row |= _exactly(model.potentials(data.X_test), np.concatenate(data.y_test))
    learned = getattr(model, "learned_", None)
    if learned is not None:
        row |= {"n_passes": round(learned.n_evaluations), "unsettled": learned.unsettled}
        row["status"] = learned.status
    return row


def _exactly(potentials: Potentials, truth: np.ndarray) -> Row:
    """Count wrong pixels of the best labelling, which a minimum cut finds if all edges attract."""
    repel = float(np.mean(potentials.edge[:, 1, 1] < 0))
    if repel:
        beliefs = local_polytope(potentials).beliefs.node
        return {"repel": repel, "wrong_exactly": int(np.sum(beliefs.argmax(axis=1) != truth))}
    return {"repel": repel, "wrong_exactly": int(np.sum(min_cut(potentials).labels != truth))}


_MEASURED = (
    "n_wrong", "n_pixels", "repel", "wrong_exactly", "primal", "dual", "gap", "n_passes", "status",
    "unsettled", "picture", "primals", "duals",
)  # fmt: skip


# -- figures --------------------------------------------------------------------------------------


def _draw_pictures(rows: Sequence[Row], path: Path) -> None:
    """Draw Fig. 3: for each image and noise, the image, a noisy copy, and what two models make of it."""
    images = [name for name in _IMAGE_ORDER if name in {_image(row) for row in rows}]
    titles = ("noisy", "pixels alone", "LBP-BFGS", "ours")
    figure = new_figure(11, 1.22 * len(images) + 0.6)
    with styled():
        axes = figure.subplots(
            len(images), 1 + 2 * len(titles), squeeze=False,
            gridspec_kw={"wspace": 0.04, "hspace": 0.04},
        )  # fmt: skip
        for line, image in zip(axes, images, strict=True):
            _show(line[0], draw_image(image))
            for k, noise in enumerate(NOISY):
                places = line[1 + k * len(titles) :][: len(titles)]
                _draw_answers(places, rows, f"{noise}-{image}")
        axes[0, 0].set_title("image", fontsize=9)
        for k, noise in enumerate(NOISY):
            for j, title in enumerate(titles):
                text = f"{noise.capitalize()}:\n{title}" if j == 0 else title
                axes[0, 1 + k * len(titles) + j].set_title(text, fontsize=9)
        letter_panels(axes[0, [0, *range(1, axes.shape[1], len(titles))]], fontsize=9)
    save_figure(figure, path)


def _draw_answers(axes: Sequence[Axes], rows: Sequence[Row], data: str) -> None:
    some = {row["model"]: row for row in rows if row["data"] == data and row["fold"] == 0}
    X, y, n = _images(data, 0, some[OURS].get("seed") or 0)
    axes[0].imshow(X[n], cmap="gray_r")
    _show(axes[0], None)
    for ax, name in zip(axes[1:], (PIXELS, "LBP-BFGS", OURS), strict=True):
        _show(ax, picture_of(some[name]["picture"], y[n].shape), y[n])


def _show(ax: Axes, pixels: np.ndarray | None, truth: np.ndarray | None = None) -> None:
    """Show an image, its wrong pixels in colour."""
    ax.set_xticks([])
    ax.set_yticks([])
    if pixels is None:
        return
    shown = np.repeat(255 * (1 - pixels[:, :, None]), 3, axis=2).astype(np.uint8)
    if truth is not None:
        shown[pixels != truth] = _WRONG
    ax.imshow(shown)


_WRONG = tuple(int(palette.VERMILION[k : k + 2], 16) for k in (1, 3, 5))


def _draw_errors(rows: Sequence[Row], path: Path) -> None:
    """Draw Fig. 2: the error of each model on each image, one panel for each noise."""
    names = (*RIVALS, PSEUDO, PIXELS, THRESHOLD, OURS)
    figure = new_figure(11, 4.2)
    with styled():
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, noise in zip(axes, NOISY, strict=True):
            for k, (image, some) in enumerate(
                groups(_same(rows, noise), _image, order=_IMAGE_ORDER.index).items()
            ):
                of = {row["model"]: row for row in some}
                errors = [_seen(of[name]) for name in names]
                ax.plot(
                    errors, np.arange(len(names)) + 0.12 * (k - 1.5), _MARKERS[k], label=image,
                    color=_COLOURS[k], markersize=6,
                )  # fmt: skip
            ax.set_xscale("log")
            _percent_axis(ax)
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_title(f"{noise.capitalize()} noise")
            ax.set_yticks(range(len(names)), names)
            ax.grid(axis="both")
        axes[0].invert_yaxis()
        axes[0].legend(loc="center left")
        letter_panels(axes)
    save_figure(figure, path)


_MARKERS, _COLOURS = "os^D", (palette.BLUE, palette.ORANGE, palette.GREEN, palette.PINK)


def _seen(row: Row) -> float:
    """Return an error in per cent; without a wrong pixel, that of half a pixel."""
    return 100 * max(row["n_wrong"], 0.5) / row["n_pixels"]


def _percent_axis(ax: Axes) -> None:
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.4g} %")
    ax.set_xlabel("wrong test pixels")


def _draw_convergence(rows: Sequence[Row], path: Path) -> None:
    """Draw Fig. 4: primal and dual after each iteration, by our solver and by the paper's algorithm."""
    figure = new_figure(11, 4)
    with styled():
        for ax, noise in zip(figure.subplots(1, 2), NOISY, strict=True):
            lowest = []
            for name, colour in ((FIG_1, palette.ORANGE), (f"{OURS}, traced", palette.BLUE)):
                [row] = [r for r in rows if r["model"] == name and r["data"].startswith(noise)]
                primal, dual = numbers(row["primals"]), numbers(row["duals"])
                label = name.removesuffix(", traced")
                at = np.arange(1, len(primal) + 1)
                ax.plot(at, primal, color=colour, linestyle="-", label=f"{label}: primal")
                ax.plot(at, dual, color=colour, linestyle="--", label=f"{label}: dual")
                lowest.append(primal.min())
            best = min(lowest)
            ax.set_ylim(0, 2 * best)
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:.4g}")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            ax.set_xlabel("iterations")
            ax.set_title(f"{noise.capitalize()} noise")
            ax.grid(axis="y")
            ax.legend()
        figure.get_axes()[0].set_ylabel("primal and dual objective")
        letter_panels(figure.get_axes())
    save_figure(figure, path)


def _draw_new(rows: Sequence[Row], path: Path) -> None:
    """Draw errors on new images, with their intervals over draws, and answers for one image."""
    figure = new_figure(11, 6.8)
    with styled():
        strip, below = figure.subfigures(2, 1, height_ratios=[1, 4])
        each = 2 + len(_NEW_SHOWN)
        pictures = list(strip.subplots(1, 2 * each))
        for noise, places in zip(NOISY, (pictures[:each], pictures[each:]), strict=True):
            _draw_new_answers(places, rows, noise)
        for ax, noise in zip(below.subplots(1, 2, sharey=True), NOISY, strict=True):
            lines = _new_lines(rows, noise)
            for place, line in enumerate(lines):
                half = None if line["half"] is None else 100 * line["half"]
                ax.errorbar(
                    100 * line["error"], place, xerr=half, fmt="o", capsize=2, markersize=5,
                    color=_new_colour(line["model"]),
                )  # fmt: skip
            ax.set_yticks(
                range(len(lines)), [_NEW_TITLES.get(line["model"], line["model"]) for line in lines]
            )
            _percent_axis(ax)
            ax.set_xlim(left=0)
            ax.set_title(f"New images, {noise} noise")
            ax.grid(axis="both")
        ax.invert_yaxis()
        letter_panels((pictures[0], pictures[each], *below.get_axes()), fontsize=10)
    save_figure(figure, path)


_NEW_SHOWN = {PIXELS: "pixels", "LBP-BFGS": "LBP", "epsilon = 1": "epsilon = 1", OURS: "per pixel"}


def _draw_new_answers(axes: Sequence[Axes], rows: Sequence[Row], noise: str) -> None:
    """Show a new image, its noisy copy, and what models make of that."""
    first = [row for row in rows if row["data"].startswith(f"{noise}-new") and row["fold"] == 0]
    X, y, n = _images(first[0]["data"], 0, first[0].get("seed") or 0)
    _show(axes[0], y[n])
    axes[1].imshow(X[n], cmap="gray_r")
    _show(axes[1], None)
    for ax, title in zip(axes, ("image", f"{noise}", *_NEW_SHOWN.values()), strict=True):
        ax.set_title(title, fontsize=9)
    of = {row["model"]: row for row in first}
    for ax, name in zip(axes[2:], _NEW_SHOWN, strict=True):
        _show(ax, picture_of(of[name]["picture"], y[n].shape), y[n])


def _new_colour(model: str) -> str:
    if model in NEW_OURS:
        return palette.BLUE
    return {
        PIXELS: MUTED,
        THRESHOLD: MUTED,
        "minimum cut": palette.GREEN,
        OURS: palette.VERMILION,
    }.get(model, palette.ORANGE)


# -- the report -----------------------------------------------------------------------------------


_IMAGE_ORDER = (*DENOISING_IMAGES, *_SIZES)


def _image(row: Row) -> str:
    """Return what a row's images show: the name of one, "new", or of one without a centre."""
    _, what, *more = row["data"].split("-")
    return f"{what}-raw" if "raw" in more else what


def _same(rows: Sequence[Row], noise: str) -> list[Row]:
    """Return the rows of one noise whose copies all show the same image, centred."""
    of_noise = [row for row in rows if row["data"].startswith(noise)]
    return [row for row in of_noise if _image(row) != "new" and "raw" not in _image(row)]


def _new_lines(rows: Sequence[Row], noise: str) -> list[dict[str, Any]]:
    """Return a line for each model on new images, in the order of the models."""
    place = {name: k for k, name in enumerate(_NEW_ORDER)}
    of_noise = [row for row in rows if row["data"].startswith(f"{noise}-new")]
    lines = []
    for model, some in groups(of_noise, "model", order=place.__getitem__).items():
        errors = mean_of(values(some, "error"))
        lines.append(
            {
                "data": f"new images, {noise}",
                "model": model,
                "wrong": int(values(some, "n_wrong").sum()),
                "pixels": int(values(some, "n_pixels").sum()),
                "error": errors.value,
                "half": errors.half,
                "n": errors.n,
                "seconds": float(np.median(values(some, "cpu_seconds"))),
                "lines_failed": sum(row.get("status") == "line search failed" for row in some),
            }
        )
    return lines


_NEW_TITLES = {OURS: "a weight per pixel and edge"}
_NEW_ORDER = (
    PIXELS, THRESHOLD, PSEUDO, f"{PSEUDO}{_DIFFERENCES}", "MF-BFGS", f"MF-BFGS{_DIFFERENCES}",
    "LBP-BFGS", f"LBP-BFGS{_DIFFERENCES}", "minimum cut", *NEW_OURS, OURS,
)  # fmt: skip
_PRINTED = {  # Fig. 2 of the paper, in per cent
    "gaussian": {
        "LBP-SGD": (2.7344, 2.4707, 3.2275, 2.3193), "LBP-SMD": (2.7344, 2.4731, 3.2324, 2.3145),
        "LBP-BFGS": (2.7417, 2.4194, 3.1299, 2.4023), "MF-SGD": (3.0469, 3.0762, 4.1382, 2.9053),
        "MF-SMD": (2.9688, 3.0640, 3.8721, 14.4360), "MF-BFGS": (3.0005, 2.7783, 3.6157, 2.4780),
        OURS: (0.0488, 0.0073, 0.1294, 0.1318),
    },
    "bimodal": {
        "LBP-SGD": (5.2905, 4.4751, 6.8164, 7.2510), "LBP-SMD": (5.2954, 4.4678, 6.7578, 7.2583),
        "LBP-BFGS": (5.2148, 4.3994, 6.0278, 6.6211),
        "MF-SGD": (10.0488, 41.0718, 29.6338, 53.6035),
        "MF-BFGS": (5.2661, 4.6167, 6.4624, 7.2510), OURS: (0.0537, 0.0244, 0.1221, 0.9277),
    },
}  # fmt: skip


def _same_lines(rows: Sequence[Row], noise: str) -> list[dict[str, Any]]:
    """Return a line for each model: its error on each image, and on all of them together."""
    place = {name: k for k, name in enumerate(_MODELS)}
    found = groups(_same(rows, noise), "model", order=place.__getitem__)
    lines = []
    for model, some in found.items():
        if model in (f"{OURS}, traced", FIG_1):
            continue
        printed = _PRINTED[noise].get(model)
        lines.append(
            {
                "noise": noise,
                "model": model,
                "wrong": int(values(some, "n_wrong").sum()),
                "pixels": int(values(some, "n_pixels").sum()),
                "printed": f"{min(printed):.2g}–{max(printed):.2g} %" if printed else None,
                "seconds": float(np.median(values(some, "cpu_seconds"))),
                "status": _statuses(some),
                **{_image(row): row["error"] for row in some},
            }
        )
    return lines


def _statuses(rows: Sequence[Row]) -> str | None:
    """Return how learners ended that did not just converge or use up their passes."""
    found = [row["status"] for row in rows if row.get("status")]
    odd = {text: found.count(text) for text in ("line search failed", "diverged") if text in found}
    return ", ".join(f"{text} ({n} of {len(rows)})" for text, n in odd.items()) or None


def _percent(value: float) -> str:
    return f"{100 * value:.3f} %"


def _of_all(line: Any) -> str:
    return f"{line['wrong']:,} of {line['pixels']:,} ({_percent(line['wrong'] / line['pixels'])})"


def _interval(line: Any) -> str:
    half = line["half"]
    return _of_all(line) + (f" ± {100 * half:.3f}" if half is not None else "")


_TEXTS = Texts("denoising.md")
_SUMMARY = ("data", "model", "wrong", "pixels", "error", "half", "n")


def _report(rows: Sequence[Row], scale: str) -> Report:
    same = {noise: _same_lines(rows, noise) for noise in NOISY}
    new = {noise: _new_lines(rows, noise) for noise in NOISY}
    images = [name for name in _IMAGE_ORDER if name in same[NOISY[0]][0]]
    same_of = {(noise, line["model"]): line for noise in NOISY for line in same[noise]}
    best = {
        noise: min((line for line in same[noise] if line["model"] in RIVALS), key=_rate)
        for noise in NOISY
    }
    raw = [row for row in rows if _image(row).endswith("-raw") and row["data"].startswith("bim")]
    texts = [
        _TEXTS(
            "caption",
            images=listed(images), C=_C,
            **{noise: _of_all(same_of[noise, OURS]) for noise in NOISY},
            **{f"{noise}_best": _of_all(best[noise]) for noise in NOISY},
        ),
        _TEXTS(
            "memory",
            vote=_of_all(same_of["bimodal", "vote"]), image=images[0],
            raw=_counted(raw), side=_side(rows),
            **{f"{noise}_new": _of_all(_find(new[noise], OURS)) for noise in NOISY},
            **{f"{noise}_shared": _of_all(_find(new[noise], "epsilon = 1")) for noise in NOISY},
        ),
        _TEXTS("choices", C=_C, others=listed([f"{C:g}" for C in _OTHER_C]), centre=_centre("bimodal")),
    ]  # fmt: skip
    by_image = (
        Column("noise", "noise"),
        Column("model", "model"),
        *(Column(image, image, _percent, right=True) for image in images),
        Column("all", _of_all, right=True),
        Column("paper", "printed", right=True),
        Column("seconds", "seconds", ".2g", right=True),
        Column("trouble", "status"),
    )
    on_new = (
        Column("images", "data"),
        Column("model", "model"),
        Column("wrong", _interval, right=True),
        Column("seconds", "seconds", ".2g", right=True),
    )
    tables = [
        table(by_image, [line for noise in NOISY for line in same[noise]]),
        table(on_new, [line for noise in NOISY for line in new[noise]]),
    ]
    traced = [_convergence(rows, noise, name) for noise in NOISY for name in (FIG_1, OURS)]
    captions = {
        "errors": _TEXTS(
            "errors", n=same_of["gaussian", OURS]["pixels"] // len(images),
            **{f"{noise}_pseudo": _of_all(same_of[noise, PSEUDO]) for noise in NOISY},
            **{f"{noise}_loopy": _of_all(same_of[noise, "LBP-BFGS"]) for noise in NOISY},
        ),
        "convergence": _TEXTS("convergence", image=images[0], passes=listed(traced)),
        "new": _TEXTS(
            "new", side=_side(rows), draws=_draws(new["gaussian"]),
            **{f"{noise}_pixels": _of_all(_find(new[noise], PIXELS)) for noise in NOISY},
            **{f"{noise}_first": _first(new[noise]) for noise in NOISY},
            **_best_labellings(rows),
        ),
    }  # fmt: skip
    lines = [
        *({**line, "data": f"{noise}, all images", "error": _rate(line), "n": len(images)}
          for noise in NOISY for line in same[noise]),
        *(line for noise in NOISY for line in new[noise]),
    ]  # fmt: skip
    return Report(
        _SUMMARY,
        lines,
        "\n\n".join(found.text() for found in tables),
        f"{paragraphs(*texts)}\n\n" + "\n".join(found.markdown() for found in tables),
        {name: f"{paragraphs(text)}\n" for name, text in captions.items()},
    )


def _rate(line: Any) -> float:
    return float(line["wrong"] / line["pixels"])


def _find(lines: Sequence[Row], model: str) -> Row:
    return next(line for line in lines if line["model"] == model)


def _best_labellings(rows: Sequence[Row]) -> dict[str, str]:
    """Return what best labellings at epsilon = 0 err, and how many edges repel."""
    some = [row for row in rows if row["model"] == "epsilon = 0"]
    counted = [{**row, "n_wrong": row["wrong_exactly"]} for row in some]
    repel = float(values(some, "repel").mean())
    return {"messages": _counted(some), "cut": _counted(counted), "repel": f"{100 * repel:.2g} %"}


def _draws(lines: Sequence[Row]) -> str:
    n = max(line["n"] for line in lines)
    return f"{n} draw{'s' * (n > 1)}"


def _first(lines: Sequence[Row]) -> str:
    """Return the best model on new images, with what it errs."""
    line = min(lines, key=_rate)
    return f"{line['model']} ({_of_all(line)})"


def _counted(rows: Sequence[Row]) -> str:
    wrong, pixels = (int(values(rows, name).sum()) for name in ("n_wrong", "n_pixels"))
    return _of_all({"wrong": wrong, "pixels": pixels})


def _side(rows: Sequence[Row]) -> int:
    return next(int(row["data"].split("-")[2]) for row in rows if _image(row) == "new")


def passes_to_meet(row: Row, share: float = 0.01) -> int | None:
    """Return after how many iterations primal and dual are within a share of the primal value."""
    primal, dual = numbers(row["primals"]), numbers(row["duals"])
    met = np.flatnonzero(
        np.minimum.accumulate(primal) - np.maximum.accumulate(dual) <= share * primal
    )
    return int(met[0]) + 1 if len(met) else None


def _convergence(rows: Sequence[Row], noise: str, name: str) -> str:
    model = f"{OURS}, traced" if name == OURS else name
    [row] = [r for r in rows if r["model"] == model and r["data"].startswith(noise)]
    n = passes_to_meet(row)
    text = f"more than {len(numbers(row['primals']))}" if n is None else f"{n}"
    return f"{text} ({noise} noise, {'the algorithm of Fig. 1' if name == FIG_1 else 'our solver'})"


DENOISING = Study(
    "denoising",
    "noise taken off images of 64 x 64 pixels",
    fits=_specs,
    fit=Trained(_split, _MODELS, _measure, _MEASURED),
    draw=_draw_pictures,
    report=_report,
    duration="quick 10 s, paper 20 min",
    shows="ASP 2-4",
    more_figures={"errors": _draw_errors, "convergence": _draw_convergence, "new": _draw_new},
    place=19,
)
"""The study."""
