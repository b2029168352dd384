"""Binary pictures to add noise to: six of our own, each drawn by a few lines of geometry.

The four images of the literature could not be found, so four of ours stand in for them.  They have
large shapes with curved edges, which neighbours restore easily.  They also have thin lines and the
corners of a chessboard, where half of a pixel's neighbours or more have the other colour.  Two small
images are for exact inference.

Coordinates run to the right and down in pixels, and a pixel is tested at its centre.  Only sums,
products, quotients and comparisons are used, so the pictures are the same on every machine.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from medn_edu.checks import check_choice

__all__ = ["DENOISING_IMAGES", "draw_image"]

DENOISING_IMAGES = ("boat", "snail", "leaf", "pawn")
"""Names of the large images that `draw_image` draws."""

_SIDE = 64
_Y, _X = np.mgrid[:_SIDE, :_SIDE] + 0.5

_CUP = """\
. . # . . # . . . .
. . . # . . # . . .
. . # . . # . . . .
. . . . . . . . . .
# # # # # # # . . .
# # # # # # # # # .
# # # # # # # . # #
# # # # # # # . # #
. # # # # # # # # .
. . # # # # . . . ."""

_KEY = """\
# # # . .
# . # . .
# # # # #
. . . . #
. . . # #"""


def _disk(x: Any, y: Any, radius: float) -> np.ndarray:
    return (_X - x) ** 2 + (_Y - y) ** 2 < radius**2


def _stroke(width: float, *points: tuple[float, float]) -> np.ndarray:
    """Return a line of some width through points, with round ends."""
    covered = np.zeros((_SIDE, _SIDE), dtype=bool)
    for (x, y), (to_x, to_y) in pairwise(points):
        dx, dy = to_x - x, to_y - y
        share = np.clip(((_X - x) * dx + (_Y - y) * dy) / (dx**2 + dy**2), 0, 1)
        covered |= _disk(x + share * dx, y + share * dy, width / 2)  # around the nearest point
    return covered


def _ring(x: float, y: float, radius: float, width: float) -> np.ndarray:
    return _disk(x, y, radius + width / 2) & ~_disk(x, y, radius - width / 2)


def _boat() -> np.ndarray:
    """Return a sailing boat on waves under the sun."""
    sun = _disk(53, 12, 6.5)
    mast = _stroke(1.5, (28.5, 2), (28.5, 47))
    jib = (_X < 27) & (_Y < 43) & (2 * (27 - _X) < _Y - 8)
    main_sail = _disk(4, 44, 47) & (_X > 30) & (_Y > 5) & (_Y < 43)
    letter = _stroke(2, (34, 38), (34, 27), (38, 33), (42, 27), (42, 38))
    hull = _disk(30, 30, 28) & (_Y > 46)
    waves = _Y - 2 * ((_X % 8) / 4 - 1) ** 2
    foam = (waves > 56) & (waves < 58)
    sea = (waves > 52) & ~foam & ~_disk(30, 30, 29.5)
    return sun | mast | jib | (main_sail & ~letter) | hull | sea


def _snail() -> np.ndarray:
    """Return a snail, its shell wound from half circles."""
    shell = _disk(38, 30, 22)
    for radius in (4, 10, 16):
        shell &= ~(_ring(38, 30, radius, 2) & (_Y < 30))
        shell &= ~(_ring(41, 30, radius - 3, 2) & (_Y > 30))
    neck = _stroke(7, (8, 22), (11, 40), (16, 54)) | _disk(8, 22, 5)
    foot = (_X > 14) & (_X < 62 - 2 * (58 - _Y)) & (_Y > 48) & (_Y < 58)
    horns = _stroke(1.5, (3, 8), (7, 20)) | _stroke(1.5, (15, 8), (10, 20))
    eyes = _disk(3, 8, 2) | _disk(15, 8, 2)
    return shell | ((neck | foot) & ~_disk(38, 30, 23.5)) | horns | eyes | (_Y > 60)


def _leaf() -> np.ndarray:
    """Return a leaf with a bite out of it; colours change places along its middle."""
    leaf = _disk(11, 11, 47.5) & _disk(53, 53, 47.5) & ~_disk(53, 38, 6) & ~_disk(48, 46, 7)
    leaf |= _stroke(3, (3, 61), (14, 50))
    for x in range(15, 47, 8):
        leaf &= ~_stroke(1.5, (x, 64 - x), (x + 3, 45 - x))
        leaf &= ~_stroke(1.5, (x, 64 - x), (x + 19, 61 - x))
    return leaf ^ (_X + _Y < 64)


def _pawn() -> np.ndarray:
    """Return a pawn of chess on a board."""

    def pawn(rim: float) -> np.ndarray:
        head = _disk(32, 14, 9 + rim) | _stroke(3 + 2 * rim, (25, 23), (39, 23))
        side = abs(_X - 32) < 4 + rim + ((_Y - 22) / 10) ** 2
        base = _stroke(4 + 2 * rim, (20, 53), (44, 53)) | _stroke(4 + 2 * rim, (16, 58), (48, 58))
        return head | (side & (_Y > 23) & (_Y < 53)) | base

    board = ((_X // 4 + _Y // 4) % 2 == 0) & (_Y > 32)
    return pawn(0) | (board & ~pawn(2))


def _read(text: str) -> np.ndarray:
    """Return the picture that a text shows, 1 where it has #."""
    return np.array([row.split() for row in text.splitlines()]) == "#"


def draw_image(name: str) -> np.ndarray:
    """Draw one of our binary images, which noise can then hide.

    The four of `DENOISING_IMAGES` have 64 x 64 pixels.  They stand in for the four images of Kumar
    and Hebert (Discriminative Fields for Modeling Spatial Dependencies in Natural Images, NIPS
    2003), which could not be found.  Between 37 and 51 % of their pixels are 1.  The ``"cup"``, 10 x
    10, and the ``"key"``, 5 x 5, are small enough for exact inference; 52 % of their pixels are 1.

    Parameters
    ----------
    name : {"boat", "snail", "leaf", "pawn", "cup", "key"}
        Which image.

    Returns
    -------
    ndarray of int64, shape (height, width)
        The pixels, 0 or 1.

    Raises
    ------
    ValueError
        If there is no image of this name.

    Examples
    --------
    >>> for row in draw_image("key"):
    ...     print("".join(".#"[pixel] for pixel in row))
    ###..
    #.#..
    #####
    ....#
    ...##
    >>> draw_image("snail").shape
    (64, 64)
    """
    check_choice("name", name, tuple(_DRAWN))
    return _DRAWN[name]().astype(np.int64)


_DRAWN: dict[str, Callable[[], np.ndarray]] = {
    "boat": _boat,
    "snail": _snail,
    "leaf": _leaf,
    "pawn": _pawn,
    "cup": lambda: _read(_CUP),
    "key": lambda: _read(_KEY),
}
