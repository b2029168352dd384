"""The moving pictures of the README.

``python -m medn_edu.course.animations [FOLDER]`` (by default ``figures`` of the checkout) trains the
model of start-here on digit words and saves the Explorer's own pictures as ``lattice.gif``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from medn_edu.datasets import load_digit_words
from medn_edu.estimators import M3N
from medn_edu.widgets import Explorer, best_path

__all__ = ["lattice_explorer", "save_animations"]

WORD = 81  # of the test words: wrong without transitions, right with them, wrong with too much


def lattice_explorer() -> Explorer:
    """Return the explorer of start-here: one word's best path as the transitions gain strength.

    Returns
    -------
    Explorer
        The explorer.
    """
    digits = load_digit_words()
    model = M3N(C=0.1, tol=1e-6, verbose=0)
    model.fit([digits.data[i] for i in digits.train], [digits.target[i] for i in digits.train])
    i = digits.test[WORD]
    return best_path(model, digits.data[i], digits.target[i], digits.images[i])


def save_animations(folder: str | Path) -> list[Path]:
    """Save the README's animations.

    Parameters
    ----------
    folder : str or Path
        Where to; made if it does not exist.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [lattice_explorer().save(folder / "lattice.gif")]


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parents[2] / "figures"
    for path in save_animations(sys.argv[1] if len(sys.argv) > 1 else checkout):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
