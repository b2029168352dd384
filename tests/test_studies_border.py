"""The study of the blank border: its data, its measures of weights, its table, caption and figure."""

import numpy as np
import pytest
from making import axes_of

from medn_edu import CRF, load_digit_words
from medn_edu.studies.border import (
    BORDER,
    MODELS,
    N_JUDGE,
    N_TRAIN,
    WIDTHS,
    border_weights,
    cost,
    fits_of,
    less,
    width_of,
)
from medn_edu.studies.kit.fair import N_POINTS
from medn_edu.studies.kit.selection import blocks_of
from medn_edu.studies.kit.stored import stored_rows

PAPER = BORDER.fits("paper", 0)


def spec_of(width, draw, model="M3N"):
    wanted = f"border-{width}", draw, model
    return next(spec for spec in PAPER if (spec.data, spec.fold, spec.model) == wanted)


def test_every_draw_has_the_same_digits_at_every_width():
    close, wide = (BORDER.fit.split(spec_of(width, 1)) for width in (0, 8))
    for one, other in zip(close.X_train + close.X_test, wide.X_train + wide.X_test, strict=True):
        images = other.reshape(-1, 24, 24)
        np.testing.assert_array_equal(images[:, 8:16, 8:16].reshape(-1, 64), one)
    labels = [np.concatenate(data.y_train + data.y_test) for data in (close, wide)]
    np.testing.assert_array_equal(*labels)


def test_draw_0_is_what_the_loader_returns():
    words, data = load_digit_words(border=4), BORDER.fit.split(spec_of(4, 0))
    given = [*words.train[: N_TRAIN + N_JUDGE], *words.test]
    for x, i in zip(data.X_train + data.X_test, given, strict=True):
        np.testing.assert_array_equal(x, words.data[i])
    other = BORDER.fit.split(spec_of(4, 1))
    assert [len(x) for x in other.X_train] != [len(x) for x in data.X_train]


@pytest.mark.parametrize("model", MODELS)
def test_choices_see_no_image_that_trains_or_tests(model):
    spec = spec_of(0, 2, model)
    data, chooses = BORDER.fit.split(spec), BORDER.fit.build(spec)
    [(train, judge)] = blocks_of(len(data.X_train), chooses.blocks)
    assert list(train) == list(range(N_TRAIN))
    assert len(judge) == N_JUDGE
    parts = [np.vstack([data.X_train[i] for i in some]) for some in (train, judge)]
    known = [{row.tobytes() for row in part} for part in (*parts, np.vstack(data.X_test))]
    assert not known[0] & known[1]
    assert not (known[0] | known[1]) & known[2]
    assert sum(len(path.values) for path in chooses.paths) == N_POINTS
    index = load_digit_words(random_state=2).image_index
    used = [np.concatenate([index[i] for i in some]) for some in (range(100), range(120, 240))]
    assert not set(used[0]) & set(used[1])


def test_shares_of_weights_by_hand():
    weights = np.zeros((2, 16))  # images of 4 x 4 pixels, two of them inside a border of 1
    weights[0, [5, 10]] = 3.0, -4.0
    weights[1, [0, 15]] = -2.0, 0.3
    found = border_weights(weights, 1)
    assert found["border_share"] == pytest.approx(2.3 / 9.3)
    assert found["border_squares"] == pytest.approx(4.09 / 29.09)
    assert found["small_share"] == pytest.approx(29 / 32)
    assert found["border_zeros"] == pytest.approx(22 / 24)
    close = border_weights(weights, 0)
    assert close["border_share"] == close["border_squares"] == 0
    assert close["border_zeros"] is None


def test_m3n_trusts_the_border_and_l1_crf_hardly():
    quick = {spec.model: spec for spec in BORDER.fits("quick", 0) if spec.data == "border-4"}
    m3n, data = BORDER.fit(quick["M3N"]), BORDER.fit.split(quick["M3N"])
    assert 0.5 < m3n["border_share"] < 0.7  # of the pixels it is 0.75
    assert m3n["border_zeros"] < 0.01
    assert m3n["train_error"] < 0.03 < 0.2 < m3n["error"]
    sparse = CRF("l1", lam=1.0, tol=5e-2, verbose=0).fit(
        data.X_train[:N_TRAIN], data.y_train[:N_TRAIN]
    )
    found = border_weights(sparse.coef_, 4)
    assert found["border_share"] < 0.25
    assert found["border_zeros"] > 0.9


def planted():
    """Results in which LapMEDN is better than M3N by a point for each pixel of the border."""
    rows = []
    for spec in PAPER:
        width = width_of(spec.data)
        better = 0.01 * width * (spec.model == "LapMEDN") - 0.03 * (spec.model == "L1-CRF")
        noise = 4e-3 * (-1) ** spec.fold * (spec.model != "M3N")
        chosen = {"LapMEDN": f"C={10 ** (spec.fold % 3)} lam=50", "epsilon-M3N": "epsilon=1 C=0.3"}
        rows.append({
            "data": spec.data, "fold": spec.fold, "model": spec.model, "seed": 0, "parameters": "",
            "chosen": chosen.get(spec.model, "C=0.1"),
            "error": 0.2 + 0.01 * spec.fold + 0.01 * width - better + noise, "train_error": 0.02,
            "border_share": 0.08 * width, "border_squares": 0.05 * width, "small_share": 0.5,
            "border_zeros": 0.25 if width else None, "n_extended": spec.fold == 3, "at_end": False,
        })  # fmt: skip
    return rows


def test_table_and_caption_of_planted_rows():
    report = BORDER.report(planted(), "paper")
    assert len(report.rows) == len(WIDTHS) * len(MODELS)
    assert set(report.rows[0]) == set(report.columns)
    of = {(line["border"], line["model"]): line for line in report.rows}
    laplace = of[8, "LapMEDN"]
    half = 2.262157 * np.std([-4e-3, 4e-3] * 5, ddof=1) / np.sqrt(10)
    assert laplace["draws"] == 10
    assert laplace["to_m3n"] == pytest.approx(-0.08)
    assert laplace["to_m3n_half"] == pytest.approx(half, rel=1e-5)
    assert laplace["cost"] == pytest.approx(0.0, abs=1e-12)
    assert laplace["C"] == 10  # the median
    assert of[4, "M3N"]["cost"] == pytest.approx(0.04)
    assert of[4, "L2-CRF"]["to_lapmedn"] == pytest.approx(0.04)
    assert of[4, "epsilon-M3N"]["epsilon"] == 1
    caption = " ".join(report.caption.split())
    assert (
        "With a border of 8 pixels M3N gets 32.5 % wrong. Fewer errors: LapMEDN -8.0 ± 0.3. "
        "More errors: L1-CRF +3.0 ± 0.3. Too close to call, as the interval contains 0: L1-M3N +0.0"
    ) in caption
    assert "Without a border M3N gets 24.5 % wrong. More errors: L1-CRF" in caption
    assert "From no border to 8 pixels the test error changes by this many" in caption
    assert ": M3N +8.0 ± 0.0, LapMEDN +0.0 ± 0.0, L1-M3N +8.0" in caption
    assert "Of 180 choices 18 went beyond their grid, by at most 1 point" in caption
    assert "Border 4: Shapes chosen, and how often: LapMEDN C = 1 (4), 10 (3), 100 (3);" in caption
    assert "| 0 | M3N | 24.5 % ± 2.2 | – | +0.0 ± 0.3 | – | 2.0 % | 0 % | 50 % | – |" in caption


def test_one_draw_gives_no_intervals():
    report = BORDER.report([row for row in planted() if row["fold"] == 0], "quick")
    assert {line["to_m3n_half"] for line in report.rows} == {None}
    assert "Fewer errors" not in report.caption


def test_differences_are_taken_draw_by_draw():
    fits = fits_of(planted()[::-1])
    assert list(fits)[: len(MODELS)] == [(0, name) for name in MODELS]
    less_rows = {key: rows for key, rows in fits.items() if key != (8, "M3N")}
    less_rows[8, "M3N"] = fits[8, "M3N"][:4]
    assert less(less_rows, 8, "LapMEDN", "M3N").n == 4
    assert cost(fits, 8, "M3N").half == pytest.approx(0, abs=1e-12)


def test_the_figure_shows_errors_differences_and_shares(monkeypatch):
    error, difference, share = axes_of(BORDER, planted(), monkeypatch)[:3]
    for ax, name, values in (
        (error, "M3N", [24.5, 28.5, 32.5]),
        (difference, "LapMEDN", [0, -4, -8]),
        (share, "L1-CRF", [0, 32, 64]),
    ):
        [bars] = [bars for bars in ax.containers if bars.get_label() == name]
        np.testing.assert_allclose(bars.lines[0].get_ydata(), values, atol=1e-9)
    [pixels] = [line for line in share.get_lines() if line.get_label() == "pixels on it"]
    assert pixels.get_ydata()[-1] == pytest.approx(100 * 8 / 9)


def test_the_published_summary_is_that_of_the_published_fits():
    stored = stored_rows("border")
    assert len(stored) == len(PAPER)
    made = BORDER.report(stored, "paper").rows
    for line, other in zip(stored_rows("border-summary"), made, strict=True):
        assert line["model"] == other["model"]
        for name in ("error", "to_m3n", "to_m3n_half", "border_share", "C"):
            assert line[name] == (None if other[name] is None else pytest.approx(other[name], 1e-4))
