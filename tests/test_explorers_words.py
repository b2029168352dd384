"""Handwriting: words with their labels, lattices, and weights as images, of models trained here."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medn_edu import CRF, M3N, load_digit_words
from medn_edu.course.exercises import check_just_enough
from medn_edu.explorers import (
    ERROR,
    best_path,
    new_figure,
    read_words,
    weight_images,
    words_figure,
    words_height,
)
from medn_edu.explorers.lattice import lattice_frame
from medn_edu.explorers.weight_images import draw_transitions, draw_weight_images, weight_mosaic
from medn_edu.samples import pack

DIGITS = load_digit_words(n_train=60, n_test=30)
INK, LABELS = [np.ones((n, 8, 8)) for n in (3, 5)], ["abc", "defgh"]


def part(index: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    rows = (DIGITS.data, DIGITS.target, DIGITS.images)
    return tuple([values[i] for i in index] for values in rows)  # type: ignore[return-value]


def framed(axes: Any) -> int:
    texts = [
        text for text in axes.texts if text.get_visible() and text.get_bbox_patch() is not None
    ]
    assert {text.get_color() for text in texts} <= {ERROR}
    return len(texts)


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
        said, alt = explorer.set(strength=1.0).summary, explorer.frame().alt
        predicted = model.predict([x])[0]
        assert f"read as {''.join(map(str, predicted))}" in said
        assert f"the best path through it is {''.join(map(str, predicted))};" in alt
        lines = {line.get_label(): line for axes in explorer.figure.axes for line in axes.lines}
        assert model.classes_[lines["best path"].get_ydata()].tolist() == predicted.tolist()
        (best, second) = model.decode([x], 2)[0]
        assert f"next best labelling by {best[1] - second[1]:.2f}." in said
    assert jumping > 0


def test_the_lattice_heeds_forbidden_pairs() -> None:
    node, edge = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[[-np.inf, 0.0], [0.0, 0.0]]])
    frames = [lattice_frame(pack([np.eye(2)]), node, edge, s) for s in (0.0, 1.0)]
    assert [frame.path.tolist() for frame in frames] != [[0, 0], [0, 0]]


def test_just_enough_grammar_is_what_the_figure_shows(capsys: pytest.CaptureFixture[str]) -> None:
    explorer = best_path()
    strengths = explorer.controls["strength"].values
    read = zip(strengths, explorer.stack(), strict=True)
    right = next(s for s, frame in read if "(0 of 6 wrong)" in frame.summary)
    for strength in strengths:  # every answer that the slider suggests is told where to go
        check_just_enough(strength)
        said = capsys.readouterr().out
        assert said.startswith("Right: ") == (strength == right)
        assert ("larger" in said) == (strength < right), said
        assert ("smalle" in said) == (strength > right), said


def test_reading_shows_the_word_and_frames_errors(models: dict[str, Any]) -> None:
    X, y, images = part(DIGITS.test)
    explorer = read_words(models, X, y, images)
    predicted = models["L2-CRF"].predict(X)
    wrong = [int(np.sum(a != b)) for a, b in zip(predicted, y, strict=True)]
    word = int(np.argmax(wrong))
    said = explorer.set(word=word + 1, model="L2-CRF").summary
    (axes,) = explorer.figure.axes
    assert framed(axes) == wrong[word] > 0
    assert sum(image.get_visible() for image in axes.images) == len(y[word])
    assert f"({wrong[word]} wrong)" in said
    assert f"{len(y[word])} handwritten letters" in said
    doubt, apart = explorer.lessons
    assert explorer.check(doubt)
    explorer.frame()
    m3n = models["M3N"]
    pairs = zip(m3n.predict_marginals(X), m3n.predict(X), strict=True)
    least = min(p[range(len(p)), np.searchsorted(m3n.classes_, given)].min() for p, given in pairs)
    sure = [text.get_text() for text in axes.texts if text.get_visible()]
    assert f"{100 * least:.0f}" in sure, "the word with the least sure letter of all"
    assert explorer.check(apart)
    read = [model.predict([X[apart.move["word"] - 1]])[0].tolist() for model in models.values()]
    assert read[0] != read[1]


def test_words_flow_within_the_axes_and_errors_are_framed() -> None:
    [ax] = words_figure(INK, LABELS, {"M3N": ["abx", "defgh"]}).axes
    assert len(ax.images) == 8
    assert [text.get_text() for text in ax.texts if text.get_color() == ERROR] == ["x"]
    assert framed(ax) == 1, "the one error"
    assert not ax.lines, "nothing crosses a letter"
    for letters_per_line in (1, 4, 8, 50):
        [ax] = words_figure(INK, LABELS, letters_per_line=letters_per_line).axes  # nobody read them
        assert not framed(ax)
        assert {text.get_text() for text in ax.texts} == set("abcdefgh") | {"truth"}
        boxes = np.array([image.get_extent() for image in ax.images])
        for (left, right, bottom, top), (x0, x1, y0, y1) in itertools.combinations(boxes, 2):
            assert not (x0 < right and left < x1 and y0 < top and bottom < y1)
        assert (boxes[:, ::2] >= ax.viewLim.min - 1e-9).all()
        assert (boxes[:, 1::2] <= ax.viewLim.max + 1e-9).all()
        assert ax.viewLim.y1 - boxes[0, 3] < 1, "no line is left empty above a long word"
    heights = [words_height(INK, letters_per_line=n) for n in (1, 5)]  # the longest word has five
    assert heights[0] == heights[1]


def test_mosaic_holds_every_weight_of_a_pixel_once() -> None:
    for n_labels, n_columns in ((3, 2), (2, None)):
        coef = np.arange(7.0 * n_labels).reshape(n_labels, 7)
        mosaic = weight_mosaic(coef, (2, 3), n_columns)
        assert sorted(mosaic[np.isfinite(mosaic)]) == sorted(coef[:, :6].ravel())
        for weights in coef:  # pixels of one image are neighbours
            [[top, left]] = np.argwhere(mosaic == weights[0])
            assert mosaic[top : top + 2, left : left + 3].ravel().tolist() == weights[:6].tolist()


def test_colours_of_weights_are_even_around_zero_and_forbidden_pairs_blank() -> None:
    ax = new_figure(6, 3).add_subplot()
    coef = np.random.default_rng(0).normal(size=(10, 64))
    limit = np.abs(coef).max()
    assert draw_weight_images(ax, coef, range(10), (8, 8)).get_clim() == (-limit, limit)
    assert {text.get_text() for text in ax.texts} == set("0123456789")
    assert draw_weight_images(ax, np.zeros((2, 4)), "ab", (2, 2)).get_clim() == (-1, 1)
    pairs = draw_transitions(ax, [[1.0, -np.inf], [0.5, 0.0]], "ab")
    assert np.ma.getmaskarray(pairs.get_array()).tolist() == [[False, True], [False, False]]
    assert pairs.get_clim() == (-1, 1)


def test_weight_images_are_those_of_labels_seen() -> None:
    explorer = weight_images(
        {n: M3N(C=0.1).fit(*part(DIGITS.train[:n])[:2]) for n in (1, 40)}, (8, 8)
    )
    assert not explorer.lessons[0].holds(40)
    n_known = len(set(DIGITS.target[DIGITS.train[0]].tolist()))
    (ax,) = explorer.figure.axes
    for words, known, likeness in ((1, f"{n_known} of 10 labels", "0."), (40, "10 of 10", "1.00.")):
        said = explorer.set(words=words).summary
        assert said.startswith(f"{words} training words: {known}")
        assert f"similarity to the last images {likeness}" in said
        assert np.nanmax(np.abs(ax.images[0].get_array())) == pytest.approx(1), "its own scale"


def test_other_weights_teach_other_lessons() -> None:
    first, last = np.random.default_rng(0).normal(size=(2, 3, 4))
    coefs = {5: 0 * first, 10: first, 20: -last, 30: last}
    models = {n: SimpleNamespace(classes_=np.arange(3), coef_=c) for n, c in coefs.items()}
    explorer = weight_images(models, (2, 2))
    assert explorer.set(words=5).summary.endswith("similarity to the last images 0.00.")
    models.pop(5)
    known, settle = weight_images(models, (2, 2)).lessons
    assert "Every label" in known.fact
    assert not settle.holds(20)


def test_what_cannot_be_shown_is_refused(models: dict[str, Any]) -> None:
    X, y, images = part(DIGITS.test[:1])
    ax = new_figure().add_subplot()
    for attempt, said in (
        (lambda: read_words(models, X, y, images), "two words or more"),
        (lambda: best_path(models["M3N"], X[0][:1], ["x"], images[0][:1]), "the label 'x'"),
        (lambda: best_path(models["M3N"], X[0]), "or none of them"),
        (lambda: weight_images({3: None}, (8, 8)), "two models or more"),
        (lambda: weight_mosaic(np.ones((2, 5)), (2, 3)), "5 features per label; expected at least"),
        (
            lambda: draw_transitions(ax, np.zeros((1, 2, 2)), "ab"),
            r"\(1, 2, 2\); expected \(2, 2\)",
        ),
        (lambda: words_figure([], []), "no words"),
        (lambda: words_figure(INK, ["abc"]), "2 words but 1 label sequences in 'true'"),
        (lambda: words_figure(INK, LABELS, {"a": ["abc", "d"]}), "5 images but 1 labels in 'a'"),
    ):
        with pytest.raises(ValueError, match=said):
            attempt()
