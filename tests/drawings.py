"""Compares the pictures that explorers send with a drawing of the whole figure."""

import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.ndimage import binary_opening


def pixels(png: bytes) -> np.ndarray:
    """The picture as an array of shape (height, width, 3)."""
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB"), dtype=float)


def differing(png: bytes, figure: Figure, size: int = 2) -> int:
    """Number of pixels that differ, but for patches smaller than ``size``: edges smoothed twice."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    whole = np.asarray(canvas.buffer_rgba())[..., :3]
    apart = np.abs(pixels(png) - whole).max(axis=2) > 40
    return int(binary_opening(apart, np.ones((size, size))).sum())
