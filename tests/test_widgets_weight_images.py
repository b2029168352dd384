"""The explorer of weights as images: labels not yet seen are blank, and lessons can fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medn_edu import M3N, load_digit_words
from medn_edu.explorers import Explorer, weight_images

DIGITS = load_digit_words(n_train=40, n_test=5)
SIZES = (1, 10, 40)


def trained(n: int) -> Any:
    index = DIGITS.train[:n]
    return M3N(C=0.1).fit([DIGITS.data[i] for i in index], [DIGITS.target[i] for i in index])


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return weight_images({n: trained(n) for n in SIZES}, (8, 8))


def test_lessons_can_fail(explorer: Explorer) -> None:
    blank, _ = explorer.lessons
    assert not blank.holds(40)
    rng = np.random.default_rng(0)
    first, last = rng.normal(size=(2, 3, 4))
    coefs = {10: first, 20: -last, 30: last}
    models = {n: SimpleNamespace(classes_=np.arange(3), coef_=c) for n, c in coefs.items()}
    known, settle = weight_images(models, (2, 2)).lessons
    assert "Every label" in known.fact
    assert not settle.holds(20)


def test_time_and_summary(explorer: Explorer) -> None:
    time = explorer.controls["words"]
    assert (time.kind, time.values) == ("time", SIZES)
    explorer.set(words=1)
    n_known = len(set(DIGITS.target[DIGITS.train[0]].tolist()))
    assert explorer.summary.startswith(f"1 training words: {n_known} of 10 labels have an image")
    assert explorer.set(words=40).summary.endswith("likeness to the last images 1.00.")
    (ax,) = explorer.figure.axes
    assert np.nanmax(np.abs(ax.images[0].get_array())) == pytest.approx(1)


def test_one_model_is_too_few() -> None:
    with pytest.raises(ValueError, match="two models or more"):
        weight_images({3: None}, (8, 8))
