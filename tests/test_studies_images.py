"""The studies ``epsilon`` and ``denoising``: their models, what they measure, figures and captions.

test_quick_studies.py runs both; here are small images and planted rows.
"""

import numpy as np
import pytest
from making import axes_of

from medn_edu.datasets import draw_image, make_noisy_images
from medn_edu.inference.loopy import enumerate_labellings
from medn_edu.studies import denoising, epsilon, grids
from medn_edu.studies.denoising import DENOISING, NOISY, OURS, passes_to_meet
from medn_edu.studies.epsilon import EPSILON, TEMPERATURES, error_table
from medn_edu.studies.grids import (
    ExactNetwork,
    GridNetwork,
    MinimumCut,
    SharedNetwork,
    Threshold,
    Vote,
    exact_labels,
    picture_of,
    picture_text,
)
from medn_edu.studies.kit.runner import evaluate


@pytest.fixture(scope="module")
def copies():
    """Six noisy copies of an image of 4 x 4 pixels."""
    X, y = make_noisy_images(draw_image("key")[:4, :4], "flip", 6, random_state=0)
    return list(X), [image.ravel() for image in y]


def errors(model, images, labels):
    return sum(int(np.sum(a != b)) for a, b in zip(model.predict(images), labels, strict=True))


# -- models ---------------------------------------------------------------------------------------


def test_the_certificate_is_in_the_papers_units(copies):
    model = GridNetwork(C=0.5, epsilon=1.0, tol=1e-6).fit(*copies)
    assert model.weights_.shape == (16 + 24,)
    other = GridNetwork(C=0.5, epsilon=1.0, tol=1e-4, solver="Fig. 1", traced=True).fit(*copies)
    assert other.result_.primal == pytest.approx(model.result_.primal, rel=1e-3)
    last = other.certificates_[-1]
    assert (last.primal, last.dual) == (other.result_.primal, other.result_.dual)
    assert len(other.certificates_) == other.result_.n_passes
    norm = 0.25 * float(model.weights_ @ model.weights_)
    assert model.result_.dual + norm < model.result_.primal + norm < 6 * 40 * np.log(4) + 6 * 16


def test_exact_training_is_that_of_all_labellings(copies):
    images, labels = copies
    exact = ExactNetwork(C=0.5, epsilon=0.5).fit(images, labels)
    local = GridNetwork(C=0.5, epsilon=0.5).fit(images, labels)
    assert exact.objective_ < local.result_.dual  # local entropies are too large
    potentials = exact.potentials(images[:1])
    brute = enumerate_labellings(potentials, 0.5).beliefs.node.argmax(axis=1)
    np.testing.assert_array_equal(exact_labels(potentials, 0.5), brute)
    np.testing.assert_array_equal(exact.predict(images[:1])[0], brute)
    # The gradient vanishes: C w is what observed features exceed expected ones by.
    slope = np.zeros_like(exact.weights_)
    for image, truth in zip(images, labels, strict=True):
        x, signs = image.ravel(), 2.0 * truth - 1
        edges = exact.grids([image]).edges
        potentials = exact.potentials([image])
        loss = (np.arange(2) != truth[:, None]).astype(float)
        augmented = type(potentials)(potentials.samples, potentials.node + loss, potentials.edge)
        beliefs = enumerate_labellings(augmented, 0.5).beliefs
        believed = beliefs.node @ [-1.0, 1.0]
        pairs = np.einsum("eij,ij->e", beliefs.edge, [[1.0, -1.0], [-1.0, 1.0]])
        both = signs[edges].prod(axis=1) - pairs
        slope += np.concatenate([x * (signs - believed), both])
    np.testing.assert_allclose(0.5 * exact.weights_, slope, atol=2e-3)


def test_a_threshold_is_the_best_there_is():
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(3, 2, 4)), rng.integers(2, size=(3, 8))
    found = errors(Threshold().fit(images, labels), images, labels)
    pixels, truth = images.ravel(), labels.ravel()
    assert found == min(int(np.sum((pixels >= at) != truth)) for at in pixels)
    perfect = Threshold().fit(images, [(image.ravel() > 0.3) for image in images])
    assert errors(perfect, images, [(image.ravel() > 0.3) for image in images]) == 0


def test_a_vote_never_looks_at_the_image(copies):
    images, labels = copies
    vote = Vote().fit(images, labels)
    assert errors(vote, [np.zeros((4, 4))], labels[:1]) == 0


def test_minimum_cuts_choose_edges_that_help():
    image = np.kron(np.eye(2, dtype=np.int64), np.ones((6, 6), dtype=np.int64))
    X, y = make_noisy_images(image, "gaussian", 8, random_state=0)
    images, labels = list(X - 0.5), [one.ravel() for one in y]
    pixels = SharedNetwork("pixels").fit(images[:6], labels[:6])
    cut = MinimumCut().fit(images[:6], labels[:6])
    assert cut.weights_[2] > 0
    assert errors(cut, images[6:], labels[6:]) < errors(pixels, images[6:], labels[6:])


@pytest.mark.parametrize("method", ["LBP-BFGS", "MF-SGD", "LBP-SMD", "PL-BFGS"])
def test_rivals_learn_to_smooth(method):
    X, y = make_noisy_images(draw_image("cup"), "gaussian", 6, random_state=0)
    model = SharedNetwork(method).fit(list(X - 0.5), [one.ravel() for one in y])
    assert model.weights_.shape == (3,)
    assert model.weights_[1] > 0 < model.weights_[2]
    assert model.learned_.status != "diverged"


def test_pictures_are_kept_as_texts():
    image = draw_image("cup")
    text = picture_text(image)
    np.testing.assert_array_equal(picture_of(text, image.shape), image)
    assert text.startswith("x"), "or a table would read a number"


# -- epsilon --------------------------------------------------------------------------------------


def test_draws_and_models_of_epsilon():
    specs = EPSILON.fits("paper", 0)
    by_model = {
        name: [s for s in specs if s.model == name and s.data == "cup"] for name in epsilon.OURS
    }
    assert {len(some) for some in by_model.values()} == {30}
    assert len({spec.key for spec in specs}) == len(specs)
    assert {spec.model for spec in specs} == set(EPSILON.models)
    one, other = (
        EPSILON.fit.split(spec) for spec in specs if spec.model == "vote" and spec.fold < 1
    )
    assert (len(one.X_train), len(one.X_test)) == (10, 10)
    assert not np.array_equal(one.X_train[0], one.X_test[0])
    assert other.X_train[0].shape == (5, 5)


def test_a_fit_of_epsilon_counts_wrong_pixels():
    spec = next(s for s in EPSILON.fits("quick", 0) if s.model == "epsilon = 0.5")
    [row] = evaluate(spec, EPSILON)
    assert row["n_wrong"] == round(1000 * row["error"])
    wrong = [int(word) for word in row["wrong_at"].split()]
    assert wrong[TEMPERATURES.index(0.5)] == row["n_wrong"]
    assert row["gap"] == pytest.approx(row["primal"] - row["dual"])
    assert 150 < row["n_flipped"] < 250
    assert row["relative_gap"] <= 1e-5


def planted_epsilon():
    picture = picture_text(draw_image("cup"))
    rows = []
    for spec in EPSILON.fits("paper", 0):
        if spec.fold < 3:
            k = 1 + spec.fold
            cold = spec.model == "epsilon = 0.01"
            rows.append({
                "data": spec.data, "fold": spec.fold, "model": spec.model, "seed": 0,
                "error": 0.01 * k, "train_error": 0.0, "n_wrong": 10 * k, "n_pixels": 1000,
                "gap": 1e-3, "primal": 8.0, "n_passes": 30, "cpu_seconds": 0.5, "picture": picture,
                "wrong_at": "90 60 10 10" if cold else "10 10 10 10", "wrong_exactly": 5,
            })  # fmt: skip
    return rows


def test_report_and_figure_of_epsilon(monkeypatch):
    rows = planted_epsilon()
    found = error_table(rows)
    np.testing.assert_allclose(found[2], [0.09, 0.06, 0.01, 0.01])
    report = EPSILON.report(rows, "paper")
    caption = " ".join(report.caption.split())
    assert "errs on 1.00 % when it predicts at 0.01, and on 9.00 % when it predicts at 1" in caption
    assert "On 3 draws a transfer matrix" in caption
    assert "60 of 3,000 | 2.00 % ± 2.48" in caption
    axes = axes_of(EPSILON, rows, monkeypatch)
    assert len(axes) == 7 + 3
    assert [text.get_text() for text in axes[8].texts][8] == "9.0"


# -- denoising ------------------------------------------------------------------------------------


def test_data_of_denoising():
    specs = DENOISING.fits("paper", 0)
    assert len({spec.key for spec in specs}) == len(specs)
    assert {spec.model for spec in specs} == set(DENOISING.models)
    of = {spec.data: DENOISING.fit.split(spec) for spec in specs if spec.model == OURS}
    boat = of["gaussian-boat"]
    assert (len(boat.X_train), len(boat.X_test), boat.X_train[0].shape) == (40, 10, (64, 64))
    centred, raw = of["bimodal-boat"].X_test[0], of["bimodal-boat-raw"].X_test[0]
    np.testing.assert_allclose(raw - centred, 0.3775)
    assert all(np.array_equal(boat.y_train[0], y) for y in (*boat.y_train, *boat.y_test))
    new = of["gaussian-new-32"]
    different = {y.tobytes() for y in (*new.y_train, *new.y_test)}
    assert len(different) == len(new.X_train) + len(new.X_test)


def test_iterations_until_primal_and_dual_meet():
    row = {"primals": "20 12 10.05 10", "duals": "-50 9 10 10"}
    assert passes_to_meet(row) == 3
    assert passes_to_meet({**row, "duals": "-50 9 9 9"}) is None


@pytest.fixture(scope="module")
def quick_rows():
    """The quick study with planted numbers."""
    rows = []
    for spec in DENOISING.fits("quick", 0):
        row = {
            "data": spec.data, "fold": spec.fold, "model": spec.model, "seed": 0, "error": 0.05,
            "train_error": 0.0, "n_wrong": 20, "n_pixels": 400, "n_test": 4, "cpu_seconds": 0.5,
            "picture": picture_text(np.eye(16 if "new" in spec.data else 10)),
            "primals": "20 12 10", "duals": "-50 9 10", "wrong_exactly": 19, "repel": 0.0,
        }  # fmt: skip
        if spec.model == OURS and "new" not in spec.data:
            row |= {"error": 0.0, "n_wrong": 0}
        if spec.model == "MF-SMD":
            row["status"] = "line search failed"
        rows.append(row)
    return rows


def test_report_of_denoising(quick_rows):
    report = DENOISING.report(quick_rows, "quick")
    caption = " ".join(report.caption.split())
    assert "errs on 0 of 400 (0.000 %) test pixels with Gaussian noise" in caption
    assert (
        "| gaussian | MF-SMD | 5.000 % | 20 of 400 (5.000 %) | 3–14 % | 0.5 | line search failed"
        in caption
    )
    assert set(report.captions) == set(DENOISING.more_figures)
    assert "on 38 of 800 (4.750 %); 0 % of the edges repel" in " ".join(
        report.captions["new"].split()
    )
    assert "3 (gaussian noise, the algorithm of Fig. 1)" in report.captions["convergence"]


def test_figures_of_denoising(quick_rows, monkeypatch):
    figures = []
    monkeypatch.setattr(denoising, "save_figure", lambda figure, _: figures.append(figure))
    for draw in DENOISING.figures.values():
        draw(quick_rows, None)
    pictures, by_image, convergence, new = (figure.get_axes() for figure in figures)
    assert len(pictures) == 9
    assert len(by_image) == len(convergence) == len(NOISY)
    assert len(new) == 2 * 6 + len(NOISY)
    dots = [line.get_xdata() for line in by_image[0].get_lines()]
    assert min(map(min, dots)) == pytest.approx(100 * 0.5 / 400), "half a pixel"
    assert {line.get_linestyle() for line in convergence[0].get_lines()} == {"-", "--"}
    assert grids.picture_of(quick_rows[0]["picture"], (10, 10)).shape == (10, 10)
