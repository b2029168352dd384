"""The moving pictures of the README and of the page of figures.

``python -m medn_edu.course.animations [FOLDER]`` (by default ``figures`` of the checkout) saves each of
them as a small GIF and as an MP4, which is smooth, has all colours and can be paused:

===============  ==================================================================================
``lattice``      start-here's word: its best path jumps as the transitions gain strength
``shrinkage``    Laplace and Gaussian prior, tilted to and fro: their means draw MEDN's Figure 1
``kl-norm``      MEDN's Figure 2: from L2 to L1, a line turned around the ball, and back
``two-weights``  a posterior over two weights, as violations of the margins become more expensive
``frank-wolfe``  labellings come and go while the duality gap closes
``projections``  L1-M3N's Figure 1: a point goes around two balls, followed by its projections
``clearing``     a noisy image clears, sweep by sweep; then couplings grow, and thin lines go
===============  ==================================================================================

`medn-edu reproduce STUDY --publish FOLDER` puts them on the page of figures, next to the study's own
figures.  The pictures come from the course's explorers.  Each film follows a list of moves that ends
where it began, so the film can repeat for ever.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import (
    Explorer,
    best_path,
    clearing,
    frank_wolfe,
    norm_balls,
    projections,
    shrinkage,
    two_weights,
)
from medn_edu.explorers.kit.films import gif, save_film
from medn_edu.files import write_atomically

Moves = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Film:
    """An animation."""

    explorer: Callable[[], Explorer]
    moves: Callable[[Explorer], Moves]  # the values to set for each picture
    per_second: float
    gif_step: int = 1  # every so many-th picture, as a GIF cannot be compressed as well
    gif_alike: int = 10  # colours that differ by at most this become one


def _once(explorer: Explorer) -> Moves:
    """Return every value of the time, in order."""
    times = {key: each for key, each in explorer.controls.items() if each.kind == "time"}
    return [{key: value} for key, each in times.items() for value in each.values]


def _to_and_fro(_: Explorer) -> Moves:
    """Return the way of a Laplace prior's eta to the end of its domain, and back as a Gaussian."""
    etas = [round(float(eta), 1) for eta in np.arange(-2.0, 2.05, 0.1)]
    moves = [{"prior": "Laplace", "eta": eta} for eta in etas]
    moves += [{"prior": "Gaussian", "eta": eta} for eta in reversed(etas)]
    first = moves.index({"prior": "Laplace", "eta": 1.0})  # says more than the end of the domain
    return moves[first:] + moves[:first]


def _l2_to_l1_and_back(explorer: Explorer) -> Moves:
    """Return larger lambdas, the line turned on the narrow ball, smaller lambdas, and turned back."""
    up, [start, end] = explorer.controls["lam"].values, [65, 25]
    turned = range(start, end - 1, -2)
    return [
        *({"lam": value, "angle": start} for value in up),
        *({"lam": up[-1], "angle": angle} for angle in turned),
        *({"lam": value, "angle": end} for value in reversed(up)),
        *({"lam": up[0], "angle": angle} for angle in reversed(turned)),
    ]


def _clear_then_erase(explorer: Explorer) -> Moves:
    """Return the first sweeps at a middling coupling, and then stronger couplings."""
    stronger = [each for each in explorer.controls["coupling"].values if 0.5 < each <= 1.25]
    moves = [{"coupling": 0.5, "sweep": sweep} for sweep in range(7)]
    return moves + [{"coupling": each, "sweep": 12} for each in stronger]


FILMS: dict[str, Film] = {
    "lattice": Film(best_path, _once, 6),
    "shrinkage": Film(shrinkage, _to_and_fro, 12, gif_step=2, gif_alike=16),
    "kl-norm": Film(norm_balls, _l2_to_l1_and_back, 12, gif_step=2, gif_alike=16),
    "two-weights": Film(two_weights, _once, 4, gif_alike=16),
    "frank-wolfe": Film(frank_wolfe, _once, 3, gif_alike=16),
    "projections": Film(projections, lambda around: _once(around)[:-1], 8, gif_alike=16),
    "clearing": Film(clearing, _clear_then_erase, 2, gif_alike=16),
}
"""The animations by name."""


def save_animations(folder: str | Path) -> list[Path]:
    """Save all animations, each as GIF and as MP4."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, film in FILMS.items():
        explorer, step = film.explorer(), film.gif_step
        pictures = [explorer.set(**move).frame().png for move in film.moves(explorer)]
        small = gif(pictures[::step], film.per_second / step, alike=film.gif_alike)
        files.append(write_atomically(folder / f"{name}.gif", small))
        files.append(save_film(folder / f"{name}.mp4", pictures, film.per_second))
    return files


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parents[2] / "figures"
    for path in save_animations(sys.argv[1] if len(sys.argv) > 1 else checkout):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
