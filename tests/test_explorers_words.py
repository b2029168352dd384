"""Explorers of handwriting: lattice, words read, and weights as images, of models trained here."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medn_edu import CRF, M3N, load_digit_words
from medn_edu.course.exercises import check_just_enough
from medn_edu.explorers import best_path, read_words, weight_images
from medn_edu.explorers.lattice import lattice_frame
from medn_edu.samples import pack

DIGITS = load_digit_words(n_train=60, n_test=30)


def part(index: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    rows = (DIGITS.data, DIGITS.target, DIGITS.images)
    return tuple([values[i] for i in index] for values in rows)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X, y, _ = part(DIGITS.train)
    return {"M3N": M3N(C=0.1).fit(X, y), "L2-CRF": CRF("l2", lam=1.0).fit(X, y)}


def test_the_lattice_shows_and_says_the_best_path(models: dict[str, Any]) -> None:
    model, jumping = models["M3N"], 0
    for x, y, images in zip(*part(DIGITS.test[:6]), strict=True):
        explorer = best_path(model, x, y, images)
        jumping += len(explorer.lessons) == 3
        assert all(explorer.check(lesson) for lesson in explorer.lessons)
        frame = explorer.set(strength=1.0).frame()
        predicted = model.predict([x])[0]
        assert f"read as {''.join(map(str, predicted))}" in frame.summary
        lines = {line.get_label(): line for axes in explorer.figure.axes for line in axes.lines}
        assert model.classes_[lines["best path"].get_ydata()].tolist() == predicted.tolist()
        (best, second) = model.decode([x], 2)[0]
        assert f"next best labelling by {best[1] - second[1]:.2f}." in frame.summary
    assert jumping > 0


def test_the_lattice_heeds_forbidden_pairs() -> None:
    node, edge = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[[-np.inf, 0.0], [0.0, 0.0]]])
    frames = [lattice_frame(pack([np.eye(2)]), node, edge, s) for s in (0.0, 1.0)]
    assert [frame.path.tolist() for frame in frames] != [[0, 0], [0, 0]]


def test_just_enough_grammar_is_what_the_figure_shows(capsys: pytest.CaptureFixture[str]) -> None:
    explorer = best_path()
    frames = [(s, explorer.set(strength=s).frame()) for s in explorer.controls["strength"].values]
    check_just_enough(next(s for s, frame in frames if "(0 of 6 wrong)" in frame.summary))
    assert capsys.readouterr().out.startswith("Right: ")
    for strength, frame in frames:
        read = frame.summary.partition("read as ")[2].partition(" ")[0]
        assert f"times {strength:.2f} the best path through it is {read};" in frame.alt


def test_reading_shows_the_word_and_strikes_errors(models: dict[str, Any]) -> None:
    explorer = read_words(models, *part(DIGITS.test))
    assert explorer.lessons
    assert all(explorer.check(lesson) for lesson in explorer.lessons)
    X, y, _ = part(DIGITS.test)
    predicted = models["L2-CRF"].predict(X)
    wrong = [int(np.sum(a != b)) for a, b in zip(predicted, y, strict=True)]
    word = int(np.argmax(wrong))
    explorer.set(word=word + 1, model="L2-CRF").frame()
    (axes,) = explorer.figure.axes
    assert sum(line.get_visible() for line in axes.lines) == wrong[word] > 0
    assert sum(image.get_visible() for image in axes.images) == len(y[word])
    assert f"({wrong[word]} wrong)" in explorer.summary
    assert f"{len(y[word])} handwritten letters" in explorer.summary


def test_weight_images_are_those_of_labels_seen() -> None:
    fits = {n: M3N(C=0.1).fit(*part(DIGITS.train[:n])[:2]) for n in (1, 10, 40)}
    explorer = weight_images(fits, (8, 8))
    time = explorer.controls["words"]
    assert (time.kind, time.values) == ("time", (1, 10, 40))
    assert not explorer.lessons[0].holds(40)
    n_known = len(set(DIGITS.target[DIGITS.train[0]].tolist()))
    said = explorer.set(words=1).summary
    assert said.startswith(f"1 training words: {n_known} of 10 labels have an image")
    assert explorer.set(words=40).summary.endswith("likeness to the last images 1.00.")
    (ax,) = explorer.figure.axes
    assert np.nanmax(np.abs(ax.images[0].get_array())) == pytest.approx(1)


def test_other_weights_teach_other_lessons() -> None:
    first, last = np.random.default_rng(0).normal(size=(2, 3, 4))
    coefs = {10: first, 20: -last, 30: last}
    models = {n: SimpleNamespace(classes_=np.arange(3), coef_=c) for n, c in coefs.items()}
    known, settle = weight_images(models, (2, 2)).lessons
    assert "Every label" in known.fact
    assert not settle.holds(20)


def test_what_cannot_be_shown_is_refused(models: dict[str, Any]) -> None:
    X, y, images = part(DIGITS.test[:1])
    for attempt, words in (
        (lambda: read_words(models, X, y, images), "two words or more"),
        (lambda: best_path(models["M3N"], X[0][:1], ["x"], images[0][:1]), "the label 'x'"),
        (lambda: best_path(models["M3N"], X[0]), "or none of them"),
        (lambda: weight_images({3: None}, (8, 8)), "two models or more"),
    ):
        with pytest.raises(ValueError, match=words):
            attempt()
