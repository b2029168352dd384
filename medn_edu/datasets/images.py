"""Noisy copies of binary images, and new random images.

Every noise is a mixture of normal distributions for each of the two classes of pixels.  The
studies subtract the centre of a noise from its pixel values, because an Ising model scores a label
y = -1 or +1 by y times a weight times the pixel value.  Without a bias such a score changes sign at
the value 0, so 0 is where the two classes must part.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from medn_edu.checks import (
    as_numbers,
    check_choice,
    check_count,
    check_nonnegative,
    random_generator,
    shown,
)

__all__ = ["NOISES", "Noise", "make_noisy_images", "make_random_images"]


@dataclass(frozen=True)
class Noise:
    """What pixels of class 0 and of class 1 look like: for each class, a mixture of normals.

    Parameters
    ----------
    classes : pair of tuples
        For each class, the parts of its mixture, each ``(weight, mean, standard deviation)``.
    centre : float
        What to subtract from pixel values before an Ising model sees them.
    """

    classes: tuple[tuple[tuple[float, float, float], ...], ...]
    centre: float


NOISES = {
    "gaussian": Noise(classes=(((1, 0, 0.3),), ((1, 1, 0.3),)), centre=0.5),
    "bimodal": Noise(
        classes=(
            ((0.5, 0.08, 0.03), (0.5, 0.46, 0.03)),
            ((0.5, 0.55, 0.02), (0.5, 0.42, 0.10)),
        ),
        centre=0.5,
    ),
    "flip": Noise(classes=(((0.8, -1, 0), (0.2, 1, 0)), ((0.2, -1, 0), (0.8, 1, 0))), centre=0.0),
}
"""The noises of `make_noisy_images` by name, each a `Noise`."""


def make_noisy_images(
    images: Any, noise: str, n_copies: int = 1, *, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Make noisy copies of binary images.

    Parameters
    ----------
    images : array-like of shape (height, width) or (n_images, height, width)
        One image or several of the same size, with pixels 0 and 1.
    noise : {"gaussian", "bimodal", "flip"}
        The noise, a key of `NOISES`.  ``"gaussian"`` adds noise of standard deviation 0.3 to 0 and
        1.  ``"bimodal"`` draws each pixel from one of two normal distributions of its class, and one
        of those of class 0 lies between the two of class 1.  ``"flip"`` codes pixels as -1 and +1 and
        changes the sign of each with probability 0.2.
    n_copies : int, default=1
        Number of copies of each image.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the noise.  With one image, more copies from the same seed begin with the same ones.

    Returns
    -------
    X : ndarray of float64, shape (n_images * n_copies, height, width)
        Pixel values, all copies of the first image first.  Nothing is subtracted from them yet.
    y : ndarray of int64, shape (n_images * n_copies, height, width)
        The true pixels.

    Raises
    ------
    TypeError, ValueError
        If the images are not binary, or an argument is out of its range.

    Notes
    -----
    The studies use ``X - NOISES[noise].centre``: 0.5 for Gaussian and bimodal noise, 0 for flips.
    If both classes are equally frequent, a threshold at this centre gets 4.8 %, 22.1 % and 20 % of the
    pixels wrong.  For bimodal noise the best threshold is 0.505, with 22.0 %.

    Don't leave bimodal values as they are in a model with a weight per pixel.  Nearly all of them are
    positive, so the sign of a pixel's weight settles its label whatever its value.  Such a model
    only remembers the image.

    Examples
    --------
    >>> from medn_edu.datasets import NOISES, draw_image
    >>> X, y = make_noisy_images(draw_image("boat"), "gaussian", n_copies=3)
    >>> X.shape, y.shape
    ((3, 64, 64), (3, 64, 64))
    >>> wrong = (X > NOISES["gaussian"].centre) != y
    >>> print(f"{wrong.sum()} of {wrong.size} pixels")
    553 of 12288 pixels
    """
    labels = _check_images(images)
    check_choice("noise", noise, tuple(NOISES))
    n_copies = check_count("n_copies", n_copies)
    rng = random_generator(random_state)
    y = np.repeat(labels, n_copies, axis=0)
    return np.stack([_draw_pixels(image, NOISES[noise], rng) for image in y]), y


def _draw_pixels(labels: np.ndarray, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """Draw a part of its class's mixture for each pixel, and from that the pixel's value."""
    lot, standard = rng.random(labels.shape), rng.standard_normal(labels.shape)
    values = np.empty(labels.shape)
    for label, parts in enumerate(noise.classes):
        mine = labels == label
        weights, means, deviations = np.array(parts).T
        part = np.searchsorted(np.cumsum(weights)[:-1], lot[mine], side="right")
        values[mine] = means[part] + deviations[part] * standard[mine]
    return values


def _check_images(images: Any) -> np.ndarray:
    """Return binary images as int64, (n_images, height, width)."""
    try:
        array = as_numbers(images)
    except TypeError as error:
        raise TypeError(f"images is an array of {error}; expected pixels 0 and 1 only.") from None
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            f"images is an array of shape {array.shape}; expected (height, width) or "
            "(n_images, height, width), with at least one pixel."
        )
    odd = ~np.isin(array, (0, 1))
    if odd.any():
        raise ValueError(
            f"images is {array[odd][0]:g} at {tuple(np.argwhere(odd)[0].tolist())}; "
            "expected pixels 0 and 1 only."
        )
    return array.astype(np.int64).reshape(-1, *array.shape[-2:])


def make_random_images(
    n_images: int,
    shape: tuple[int, int] = (64, 64),
    *,
    blur: float = 3.0,
    random_state: Any = 0,
) -> np.ndarray:
    """Make random binary images of smooth blobs.  Each is new, so none can be memorised.

    Each image is a field of independent uniform numbers, blurred by a Gaussian and then cut at its
    median.  The blur wraps around at the borders, so the images look alike at every pixel.

    Parameters
    ----------
    n_images : int
        Number of images.
    shape : (int, int), default=(64, 64)
        Height and width.
    blur : float, default=3.0
        Standard deviation of the Gaussian in pixels, at most the shorter side.  A larger one makes
        larger blobs; 0 leaves pixels independent.
    random_state : int, numpy.random.Generator or None, default=0
        Seed.  More images from the same seed begin with the same ones.

    Returns
    -------
    ndarray of int64, shape (n_images, height, width)
        The pixels.  In each image half of them are 1; with an odd number of pixels, one fewer.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> images = make_random_images(5, (16, 24), blur=2)
    >>> images.shape, images.mean(axis=(1, 2))
    ((5, 16, 24), array([0.5, 0.5, 0.5, 0.5, 0.5]))
    """
    n_images = check_count("n_images", n_images)
    shape = _check_shape(shape)
    blur = check_nonnegative("blur", blur)
    if blur > min(shape):
        raise ValueError(f"blur is {blur:g}; expected at most the shorter side, {min(shape)}.")
    rng = random_generator(random_state)
    fields = (gaussian_filter(rng.random(shape), blur, mode="wrap") for _ in range(n_images))
    return np.stack([field > np.median(field) for field in fields]).astype(np.int64)


def _check_shape(shape: Any) -> tuple[int, int]:
    try:
        height, width = (check_count("shape", side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"shape is {shown(shape)}; expected a height and a width, whole numbers of at least 1."
        ) from None
    return height, width
