"""A noisy image clears, sweep by sweep: neighbouring pixels tell each other what they believe.

Each pixel starts from its own value, weighed by the odds of the noise.  A coupling rewards neighbours
with equal labels.  If the coupling is weak, noise stays.  If it is strong, thin lines disappear with
the noise.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from scipy.special import expit

from medn_edu.datasets import NOISES, draw_image, make_noisy_images
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import norm_product
from medn_edu.samples import grid, pack

COUPLINGS = tuple(k / 8 for k in range(17))
N_SWEEPS = 12
NUMBERS = ("bethe", "ones")
NAMES = ("Bethe", "ones")
KINDS = ("flip", "gaussian")

_TRUE = draw_image("boat")[2:34, 20:52]
_WRONG = ListedColormap(["#F4F1EA", palette.BLUE, palette.VERMILION])  # right, plain, fine
_ISING = np.array([[[1.0, -1.0], [-1.0, 1.0]]])


def fine_parts(image: np.ndarray) -> np.ndarray:
    """Return which pixels have at most two neighbours of their own label: lines, corners, tips."""
    padded = np.pad(image, 1, mode="edge")
    around = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
    return sum((side == image).astype(int) for side in around) <= 2


@dataclass(frozen=True, eq=False)
class ClearingFrame:
    """An image after a number of sweeps; 0 is every pixel alone."""

    noisy: np.ndarray  # pixel values
    beliefs: np.ndarray  # of label 1, pixel by pixel
    wrong: np.ndarray  # where the label believed in is not the true one
    fine_errors: (
        np.ndarray
    )  # wrong pixels among fine parts, coupling by coupling, after these sweeps
    other_errors: np.ndarray  # and among all others

    @property
    def n_wrong(self) -> int:
        """Number of wrong pixels."""
        return int(self.wrong.sum())

    @property
    def n_fine(self) -> int:
        """Number of wrong pixels among the fine parts."""
        return int((self.wrong & FINE).sum())


def clearing_frame(sweep: int, coupling: float, noise: str, numbers: str) -> ClearingFrame:
    """Send messages through the image."""
    beliefs = _beliefs(noise, numbers)
    wrong = (beliefs[:, sweep] > 0.5) != _TRUE
    k = COUPLINGS.index(coupling)
    counts = [(wrong & part).sum(axis=(1, 2)) for part in (FINE, ~FINE)]
    return ClearingFrame(_noisy(noise), beliefs[k, sweep], wrong[k], *counts)


@cache
def _noisy(noise: str) -> np.ndarray:
    X, _ = make_noisy_images(_TRUE, noise, random_state=1)
    return X[0]


@cache
def _beliefs(noise: str, numbers: str) -> np.ndarray:
    """Return beliefs (coupling, sweep, row, column)."""
    x = _noisy(noise)
    # half the logarithm of the odds that the noise gives to label 1
    own = 0.5 * (np.log(4) * x if noise == "flip" else (x - NOISES[noise].centre) / 0.3**2)
    samples = pack([grid(x)])
    node = np.stack([-own.ravel(), own.ravel()], axis=1)
    return np.array([_clear(Potentials(samples, node, J * _ISING), numbers) for J in COUPLINGS])


def _clear(potentials: Potentials, numbers: str) -> np.ndarray:
    """Return beliefs before the first sweep and after each."""
    found = [expit(2.0 * potentials.node[:, 1])]

    def note(sweep: int, beliefs: list[np.ndarray]) -> bool:
        found.append(beliefs[0][:, 1, 0].copy())
        return sweep == N_SWEEPS

    with warnings.catch_warnings():  # it is stopped early, and Bethe's numbers are not certified
        warnings.simplefilter("ignore")
        norm_product(potentials, numbers, tol=1e-15, max_sweeps=N_SWEEPS, callback=note)
    found += found[-1:] * (N_SWEEPS + 1 - len(found))  # without couplings one sweep is enough
    return np.array(found).reshape(-1, *_TRUE.shape)


FINE = fine_parts(_TRUE)
"""The fine parts of the image."""


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------


def _image(ax: Axes, title: str) -> Any:
    """Draw an image without axes."""
    picture = ax.imshow(np.zeros(_TRUE.shape), cmap=INK_ON_PAPER, vmin=0, vmax=1)
    ax.set_title(title)
    ax.set_axis_off()
    return picture


def _errors(ax: Axes) -> Callable[[ClearingFrame, float], None]:
    """Draw how many pixels are wrong up to the current coupling. What follows is the question."""
    (others,) = ax.plot([], [], "-", color=palette.BLUE, label="of plain parts")
    (fine,) = ax.plot([], [], "--", color=palette.VERMILION, label="of lines and corners")
    (now,) = ax.plot([0, 0], [0, 0], "o", color=MUTED, mec="white", ms=8, zorder=3, clip_on=False)
    ax.set(xlim=(0, COUPLINGS[-1]), ylim=(0, 75), yticks=(0, 25, 50, 75))
    ax.set(xlabel="strength of the coupling", ylabel="wrong pixels (%)")
    ax.set_title("Too weak, too strong")
    ax.legend(loc="upper left")

    def show(frame: ClearingFrame, coupling: float) -> None:
        shares = 100 * frame.fine_errors / FINE.sum(), 100 * frame.other_errors / (~FINE).sum()
        k = COUPLINGS.index(coupling)
        fine.set_data(COUPLINGS[: k + 1], shares[0][: k + 1])
        others.set_data(COUPLINGS[: k + 1], shares[1][: k + 1])
        now.set_data([coupling] * 2, [shares[0][k], shares[1][k]])

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------

_BETHE = {"sweep": N_SWEEPS, "noise": "flip", "numbers": "bethe"}


@lesson("A weak coupling leaves every flipped pixel as it is.", {**_BETHE, "coupling": 0.125})
def _weak(sweep: int, coupling: float, noise: str, numbers: str) -> bool:
    frame = clearing_frame(sweep, coupling, noise, numbers)
    alone = clearing_frame(0, coupling, noise, numbers)
    return sweep > 0 and frame.n_wrong == alone.n_wrong > 100


@lesson("A medium coupling removes more than two in five errors.", {**_BETHE, "coupling": 0.5})
def _middling(sweep: int, coupling: float, noise: str, numbers: str) -> bool:
    frame = clearing_frame(sweep, coupling, noise, numbers)
    return frame.n_wrong < 0.6 * clearing_frame(0, coupling, noise, numbers).n_wrong


@lesson(
    "A strong coupling cleans the plain parts, but spoils more of the lines than the noise did.",
    {**_BETHE, "coupling": 0.75},
)
def _strong(sweep: int, coupling: float, noise: str, numbers: str) -> bool:
    frame = clearing_frame(sweep, coupling, noise, numbers)
    alone = clearing_frame(0, coupling, noise, numbers)
    plain, before = (each.n_wrong - each.n_fine for each in (frame, alone))
    return 5 * plain <= before and frame.n_fine > 1.5 * alone.n_fine


@lesson(
    "With the paper's ones the same coupling does almost nothing: their beliefs are too timid.",
    {**_BETHE, "numbers": "ones", "coupling": 0.5},
)
def _ones(sweep: int, coupling: float, noise: str, numbers: str) -> bool:
    flat = clearing_frame(sweep, coupling, noise, numbers)
    bethe = clearing_frame(sweep, coupling, noise, "bethe")
    return flat.n_wrong > 1.5 * bethe.n_wrong


_CAPTION = (
    "At the top, the noisy image, the beliefs after this sweep (dark is ink), and the wrong "
    "pixels: vermilion in lines and corners, blue elsewhere. Below, the truth, and the "
    "share of wrong pixels for each coupling up to the current one. Compare the two kinds of "
    "pixels as the coupling grows."
)


def clearing() -> Explorer:
    """Return an explorer of an image that clears, sweep by sweep.

    Returns
    -------
    Explorer
        The explorer: its time is ``sweep``; ``coupling`` is what equal neighbours are worth, ``noise``
        and ``numbers`` are the noise and the counting numbers.
    """
    figure = new_figure(8.8, 5.2)
    axes = figure.subplot_mosaic(
        [["noisy", "beliefs", "wrong"], ["true", "errors", "errors"]], height_ratios=[1, 1]
    )
    with styled():
        noisy = _image(axes["noisy"], "What we see")
        beliefs = _image(axes["beliefs"], "Beliefs")
        title = axes["beliefs"].set_title("Beliefs")
        wrong = _image(axes["wrong"], "Wrong pixels")
        wrong.set_cmap(_WRONG)
        _image(axes["true"], "The truth").set_data(_TRUE)
        show_errors = _errors(axes["errors"])

    def update(sweep: int, coupling: float, noise: str, numbers: str) -> str:
        frame = clearing_frame(sweep, coupling, noise, numbers)
        noisy.set(data=frame.noisy, clim=(frame.noisy.min(), frame.noisy.max()))
        beliefs.set_data(frame.beliefs)
        title.set_text(f"Beliefs, sweep {sweep}")
        wrong.set_data(frame.wrong * (1.0 + FINE) / 2)
        name = NAMES[NUMBERS.index(numbers)]
        show_errors(frame, coupling)
        return (
            f"Sweep {sweep}, coupling {coupling:g}, {name}, {noise} noise: {frame.n_wrong} of "
            f"{_TRUE.size} pixels wrong, {frame.n_fine} of them among the {FINE.sum()} of lines and "
            "corners."
        )

    def alt(sweep: int, coupling: float, noise: str, numbers: str) -> str:
        frame = clearing_frame(sweep, coupling, noise, numbers)
        return (
            f"Above, a piece of a drawn boat with {noise} noise, the beliefs after {sweep} sweeps, and "
            f"the {frame.n_wrong} wrong pixels. Below, the truth, and curves of wrong pixels over the "
            "strength of the coupling, for lines and corners and for the plain parts."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_weak, _middling, _strong, _ones],
        name="clearing",
        sweep=Time(0, N_SWEEPS, 1, N_SWEEPS, label="sweeps", per_second=3),
        coupling=listed(COUPLINGS, 0.5, "strength of the coupling"),
        noise=Choice(KINDS),
        numbers=Choice(NUMBERS, label="counting numbers", texts=NAMES),
    )


EXHIBIT = Exhibit("An image clears", "loopy", clearing, 1)
