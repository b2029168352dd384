"""Handwriting for the notebooks: the OCR letters, or digits under a banner, never silently."""

from typing import Any

import numpy as np
import pytest

from medn_edu.datasets import DataError, handwriting


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*args: Any, **kwargs: Any) -> None:
        assert kwargs["download"] is False
        raise DataError("nowhere")

    monkeypatch.setattr(handwriting, "load_ocr", absent)


@pytest.mark.usefixtures("missing")
def test_the_stand_in_says_so() -> None:
    words = handwriting.load_handwriting()
    assert words.stands_in
    shown = words._repr_mimebundle_()
    for text in shown.values():
        assert "medn-edu data fetch" in text
        assert "stand in" in text
        assert "Digit words: 800 words" in text
    assert 'role="alert"' in shown["text/html"]


@pytest.mark.usefixtures("missing")
def test_parts_are_apart_and_in_random_order() -> None:
    words = handwriting.load_handwriting()
    assert not set(words.train) & set(words.test)
    assert (np.diff(words.train) < 0).any()
    again, other = handwriting.load_handwriting(), handwriting.load_handwriting(1)
    assert (again.train == words.train).all()
    assert (other.train != words.train).any()
    X, y = words.take(words.train[:3])
    assert [len(x) for x in X] == [len(labels) for labels in y]
    assert X[0].shape[1] == words.shape[0] * words.shape[1]


def test_the_real_letters_are_used_where_they_are(ocr: Any) -> None:
    words = handwriting.load_handwriting()
    assert not words.stands_in
    assert set(words._repr_mimebundle_()) == {"text/plain"}
    assert (ocr.fold[words.train] == 0).all()
    assert (ocr.fold[words.test] != 0).all()
    assert len(words.train) + len(words.test) == 6877
