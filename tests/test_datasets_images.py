"""Images and their noises: frozen pictures, distributions as stated, one seed one result."""

import hashlib

import numpy as np
import pytest
from scipy.stats import norm

from medn_edu.datasets import (
    DENOISING_IMAGES,
    NOISES,
    draw_image,
    make_noisy_images,
    make_random_images,
)

FROZEN = {
    "boat": "a49ab74bcb4b",
    "snail": "712259e41427",
    "leaf": "6f7539bed604",
    "pawn": "147f03ec2ac5",
    "cup": "a3405900781a",
    "key": "f98471ad4c3d",
}


@pytest.mark.parametrize("name", FROZEN)
def test_the_images_are_frozen(name):
    """Results of the studies are those of these images, so they may not change unnoticed."""
    image = draw_image(name)
    assert image.dtype == np.int64
    assert image.shape == {"cup": (10, 10), "key": (5, 5)}.get(name, (64, 64))
    assert 0.3 < image.mean() < 0.6
    digest = hashlib.sha256(image.astype(np.uint8).tobytes()).hexdigest()
    assert digest.startswith(FROZEN[name])
    image[:] = 0  # a caller's copy: the next one is whole
    assert draw_image(name).any()


def test_the_large_images_are_not_trivial():
    """Large shapes, so that neighbours help, and some pixels at odds with most of theirs."""
    assert set(FROZEN) - {"cup", "key"} == set(DENOISING_IMAGES)
    for image in map(draw_image, DENOISING_IMAGES):
        across, down = image[:, 1:] != image[:, :-1], image[1:] != image[:-1]
        assert 0.05 < np.mean([across.mean(), down.mean()]) < 0.15
        thin = across[:, 1:] & across[:, :-1]
        low = down[1:] & down[:-1]
        assert thin.sum() + low.sum() >= 10


def parts_below(parts, value):
    """Distribution function of a mixture of normals; flips have no spread."""
    return sum(w * norm.cdf(value, mean, max(sd, 1e-12)) for w, mean, sd in parts)


@pytest.mark.parametrize("noise", NOISES)
def test_pixels_follow_their_mixture(noise):
    """Quantiles, not moments alone: bimodal noise must have two modes."""
    image = np.tile([0, 1], (200, 100))
    X, y = make_noisy_images(image, noise, n_copies=5)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert (y == image).all()
    for label, parts in enumerate(NOISES[noise].classes):
        values = X[y == label]
        assert sum(weight for weight, _, _ in parts) == 1
        mean = sum(w * m for w, m, _ in parts)
        variance = sum(w * (sd**2 + (m - mean) ** 2) for w, m, sd in parts)
        error = 4.5 / np.sqrt(values.size)
        assert values.mean() == pytest.approx(mean, abs=error * np.sqrt(variance))
        assert values.std() == pytest.approx(np.sqrt(variance), abs=error * np.sqrt(variance))
        for value in (-0.5, 0.05, 0.3, 0.45, 0.52, 0.6, 1.2):
            below = parts_below(parts, value)
            spread = np.sqrt(below * (1 - below))
            assert (values < value).mean() == pytest.approx(below, abs=error * spread + 1e-9)


def test_the_noises_are_those_of_the_paper():
    X, y = make_noisy_images(np.tile([0, 1], (200, 100)), "gaussian", 5, random_state=1)
    assert (X - y).std() == pytest.approx(0.3, abs=0.003)
    flips, y = make_noisy_images(np.tile([0, 1], (200, 100)), "flip", 5, random_state=1)
    assert set(flips.ravel()) == {-1.0, 1.0}
    assert ((flips > 0) != y).mean() == pytest.approx(0.2, abs=0.004)
    modes = [(mean, sd) for parts in NOISES["bimodal"].classes for _, mean, sd in parts]
    assert modes == [(0.08, 0.03), (0.46, 0.03), (0.55, 0.02), (0.42, 0.10)]


@pytest.mark.parametrize(("noise", "percent"), [("gaussian", 4.8), ("bimodal", 22.1), ("flip", 20)])
def test_the_centre_is_about_the_best_threshold(noise, percent):
    first, second = NOISES[noise].classes

    def error(threshold):
        return (1 - parts_below(first, threshold) + parts_below(second, threshold)) / 2

    here = error(NOISES[noise].centre)
    assert 100 * here == pytest.approx(percent, abs=0.05)
    assert here <= error(np.linspace(-1.5, 1.5, 3001)).min() + 0.0015


def test_pixels_are_independent():
    X, y = make_noisy_images(draw_image("leaf"), "gaussian", 20)
    rest = X - y
    across = (rest[:, :, 1:] * rest[:, :, :-1]).mean() / 0.09
    copies = (rest[1:] * rest[:-1]).mean() / 0.09
    assert [across, copies] == pytest.approx([0, 0], abs=4.5 / np.sqrt(rest[1:].size))


@pytest.mark.parametrize("noise", NOISES)
def test_a_seed_gives_the_same_copies(noise):
    image = draw_image("cup")
    four, six = (make_noisy_images(image, noise, n, random_state=5)[0] for n in (4, 6))
    np.testing.assert_array_equal(six[:4], four)
    assert (six[0] != six[1]).any()
    assert (make_noisy_images(image, noise, 4, random_state=6)[0] != four).any()
    rng = np.random.default_rng(5)
    np.testing.assert_array_equal(make_noisy_images(image, noise, 4, random_state=rng)[0], four)
    assert (make_noisy_images(image, noise, 4, random_state=rng)[0] != four).any()


def test_several_images_are_copied_in_their_order():
    images = make_random_images(3, (4, 5), blur=1)
    X, y = make_noisy_images(images, "flip", 2)
    assert X.shape == (6, 4, 5)
    np.testing.assert_array_equal(y[::2], images)
    np.testing.assert_array_equal(y[1::2], images)
    alone, _ = make_noisy_images(images[:1].astype(bool), "flip", 2)
    np.testing.assert_array_equal(X[:2], alone)


@pytest.mark.parametrize("shape", [(64, 64), (7, 9), (1, 8)])
def test_random_images_have_as_many_of_each_class(shape):
    images = make_random_images(10, shape, blur=1)
    assert images.dtype == np.int64
    assert images.shape == (10, *shape)
    assert (images.sum(axis=(1, 2)) == np.prod(shape) // 2).all()
    np.testing.assert_array_equal(make_random_images(4, shape, blur=1), images[:4])
    assert (make_random_images(4, shape, blur=1, random_state=1) != images[:4]).any()


def test_blur_makes_blobs_and_no_pixel_is_special():
    differ = []
    for blur in (0, 1, 2, 4):
        images = make_random_images(100, (32, 32), blur=blur)
        differ.append((images[:, :, 1:] != images[:, :, :-1]).mean())
    assert differ[0] == pytest.approx(0.5, abs=0.01)
    # Two jointly normal values of correlation r differ in sign with probability arccos(r) / pi.
    assert differ[2] == pytest.approx(np.arccos(np.exp(-1 / 16)) / np.pi, abs=0.01)
    assert differ == sorted(differ, reverse=True)
    many = make_random_images(1000, (8, 8), blur=1.5)
    assert np.abs(many.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(1000)
    across = (many[:, :, 1:] != many[:, :, :-1]).mean(axis=(0, 1))
    assert np.ptp(across) < 0.03


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "images": [
            [0, 1],
            [[0, 2]],
            [[0.5]],
            [[np.nan]],
            [[]],
            [["a"]],
            [[0, 1], [1]],
            np.ma.masked_equal([[0, 1]], 1),
            np.zeros((1, 1, 1, 1)),
        ],
        "noise": ["salt", None, 0.3, ["flip"]],
        "n_copies": [0, 1.5, True],
        "random_state": [-1, "seed"],
    }.items(),
)
def test_bad_arguments_of_noisy_images_are_named(name, values):
    good = {"images": [[0, 1]], "noise": "flip", "n_copies": 1, "random_state": 0}
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected [^\n]*\.$"):
            make_noisy_images(**{**good, name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "n_images": [0, 2.0],
        "shape": [5, (5,), (5, 5, 5), (0, 5), (5.5, 5), "ab"],
        "blur": [-1, float("inf"), 6, "much"],
        "random_state": [-1],
    }.items(),
)
def test_bad_arguments_of_random_images_are_named(name, values):
    good = {"n_images": 1, "shape": (5, 6), "blur": 1, "random_state": 0}
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected [^\n]*\.$"):
            make_random_images(**{**good, name: value})


def test_bad_names_of_images_are_named():
    for name in ("cat", None, 3):
        with pytest.raises(
            ValueError, match=r"^name is .*; expected one of 'boat', .* or 'key'\.$"
        ):
            draw_image(name)
