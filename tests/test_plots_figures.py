"""Figures: something is drawn, errors are marked by shape, bad input gets a sentence."""

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image as mpl_image
from matplotlib.colors import to_hex

from medn_edu import explorers as plots
from medn_edu.explorers.kit import palette, style
from medn_edu.explorers.laplace import draw_bells, draw_gaps, draw_rates
from medn_edu.explorers.weight_images import weight_mosaic
from medn_edu.studies.kit import figures as errors
from medn_edu.studies.kit.summary import curves
from medn_edu.theory.laplace import best_tau, jensen_gap


def pixels(figure, tmp_path, name="figure.png"):
    """The saved figure as an array of shape (height, width, channels)."""
    return mpl_image.imread(plots.save_figure(figure, tmp_path / name))


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    return [rng.random((n, 8, 8)) for n in (3, 5)]


def test_words_are_drawn_and_errors_struck_out(words, tmp_path):
    figure = plots.words_figure(words, ["abc", "defgh"], {"M3N": ["abx", "defgh"]})
    [ax] = figure.axes
    assert len(ax.images) == 8
    assert [text.get_text() for text in ax.texts if text.get_color() == plots.ERROR] == ["x"]
    assert len(ax.lines) == 1, "the one error is struck out by the one line"
    assert pixels(figure, tmp_path).std() > 0.05
    [ax] = plots.words_figure(words, ["abc", "defgh"]).axes  # nobody read them
    assert not ax.lines
    assert {text.get_text() for text in ax.texts} == set("abcdefgh") | {"truth"}


def test_words_flow_without_overlap(words):
    for letters_per_line in (1, 4, 8, 50):
        figure = plots.words_figure(words, ["abc", "defgh"], letters_per_line=letters_per_line)
        boxes = [image.get_extent() for image in figure.axes[0].images]
        for (left, right, bottom, top), (x0, x1, y0, y1) in itertools.combinations(boxes, 2):
            assert not (x0 < right and left < x1 and y0 < top and bottom < y1)


def test_mosaic_holds_every_weight_of_a_pixel_once():
    for coef, n_columns in ((np.arange(1.0, 19).reshape(3, 6), 2), (np.eye(2, 7), None)):
        mosaic = weight_mosaic(coef, (2, 3), n_columns)
        assert sorted(mosaic[np.isfinite(mosaic)]) == sorted(coef[:, :6].ravel())


def test_weight_images(tmp_path):
    figure = plots.new_figure(6, 3)
    coef = np.random.default_rng(0).normal(size=(10, 64))
    image = plots.draw_weight_images(figure.add_subplot(), coef, range(10), (8, 8))
    low, high = image.get_clim()
    assert low == -high == -np.abs(coef).max()
    assert {text.get_text() for text in figure.axes[0].texts} == set("0123456789")
    assert pixels(figure, tmp_path).std() > 0.05
    ax = plots.new_figure().add_subplot()
    assert plots.draw_weight_images(ax, np.zeros((2, 4)), "ab", (2, 2)).get_clim() == (-1, 1)


def test_transitions_leave_forbidden_pairs_blank(tmp_path):
    figure = plots.new_figure(4, 4)
    ax = figure.add_subplot()
    image = plots.draw_transitions(ax, [[1.0, -np.inf], [0.5, 0.0]], "ab")
    assert np.ma.getmaskarray(image.get_array()).tolist() == [[False, True], [False, False]]
    assert image.get_clim() == (-1, 1)
    assert pixels(figure, tmp_path).std() > 0.05


ROWS = [
    {"model": model, "n_train": n, "error": error}
    for model, n, error in [
        ("M3N", 200, 0.1), ("M3N", 100, 0.2), ("M3N", 100, 0.4),
        ("CRF", 100, 0.5), ("CRF", 100, None),
    ]
]  # fmt: skip


def test_errors_are_drawn_with_markers_and_line_styles(tmp_path):
    for logarithmic in (False, True):
        figure = plots.new_figure()
        ax = figure.add_subplot()
        errors.draw_errors(ax, curves(ROWS), logarithmic=logarithmic)
        lines = [container.lines[0] for container in ax.containers]
        assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 2
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["M3N", "CRF"]
        assert pixels(figure, tmp_path).std() > 0.03


def test_known_models_look_different():
    styles = [plots.series_style(name) for name in ("M3N", "L2-CRF", "CRF", "per letter")]
    for key in ("color", "marker"):
        assert len({each[key] for each in styles}) == len(styles)
    assert plots.series_style("somebody's own")["marker"]


def test_error_bars(tmp_path):
    figure = plots.new_figure()
    ax = figure.add_subplot()
    errors.draw_error_bars(ax, ["M3N", "CRF"], [0.0, 0.25], [0.0, 0.05])
    assert [text.get_text() for text in ax.texts] == ["0.0 %", "25.0 %"]
    assert ax.get_xlim()[1] > 0.3
    assert pixels(figure, tmp_path).std() > 0.05


def test_style_is_complete_and_readable():
    settings = mpl.rc_params_from_file(style.STYLE_FILE, use_default_template=False)
    sizes = [value for key, value in settings.items() if key.endswith("size") and "font" in key]
    sizes += [settings[f"{axis}tick.labelsize"] for axis in "xy"]
    assert min(sizes) >= 9
    cycle = settings["axes.prop_cycle"].by_key()
    assert len(set(map(str, cycle["linestyle"]))) == len(cycle["linestyle"])
    colours = [vars(palette)[name] for name in ["BLUE", "ORANGE", "GREEN", "PINK", "SKY", "SLATE"]]
    assert list(map(to_hex, cycle["color"])) == list(map(str.lower, colours))
    assert to_hex(settings["text.color"]) == plots.INK.lower()


def test_settings_are_put_back():
    before = mpl.rcParams["axes.spines.top"]

    def draw_badly():
        with plots.styled():
            assert mpl.rcParams["axes.spines.top"] is False
            raise RuntimeError

    with pytest.raises(RuntimeError):
        draw_badly()
    assert mpl.rcParams["axes.spines.top"] is before is True
    ax = plots.new_figure().add_subplot()
    assert not ax.spines["top"].get_visible(), "figures have the style wherever they are drawn"


def test_the_same_figure_gives_the_same_bytes(words, tmp_path):
    for suffix in ("png", "svg", "pdf"):
        names = [tmp_path / f"{n}.{suffix}" for n in range(2)]
        one, other = (
            plots.save_figure(plots.words_figure(words, ["abc", "defgh"]), name).read_bytes()
            for name in names
        )
        assert one == other, suffix
    assert len(list(tmp_path.iterdir())) == 6, "nothing else is left behind"


def test_threads_draw_at_the_same_time(tmp_path):
    def draw(number):
        figure = plots.new_figure(3, 2)
        errors.draw_error_bars(figure.add_subplot(), ["a"], [0.5])
        plots.save_figure(figure, tmp_path / f"{number}.png")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(draw, range(4)))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    assert len(list(tmp_path.iterdir())) == 4


def test_pyplot_is_not_needed():
    code = "import sys, medn_edu.explorers; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- the Laplace prior on paper --------------------------------------------------------------------

W = np.linspace(-1, 1, 21)


def bell(height):
    return np.column_stack([W, height * (1 - W**2)])


def test_bells_stand_on_each_other(tmp_path):
    figure = plots.new_figure(4, 3)
    ax = figure.add_subplot()
    draw_bells(ax, {"wide": bell(0.5), "middle": bell(0.3), "narrow": bell(0.1)}, bell(1.0))
    tops = [patch.get_xy()[:, 1].max() for patch in ax.patches]
    np.testing.assert_allclose(tops, [0.5, 0.8, 0.9])
    in_front = [patch.get_zorder() for patch in ax.patches]
    assert in_front == sorted(in_front, reverse=True), "lower ones cover higher ones"
    assert len({patch.get_facecolor() for patch in ax.patches}) == 3
    assert ax.get_ylim()[1] > 1
    assert plots.save_figure(figure, tmp_path / "figure.png").stat().st_size > 5_000


def test_minima_are_marked_and_one_gap_is_shaded(tmp_path):
    taus = np.geomspace(0.05, 20, 61)
    posteriors = {"a": (0.0, 0.25), "b": (1.0, 0.5)}
    curves = {
        name: np.column_stack([taus, jensen_gap(*p, 4.0, taus)]) for name, p in posteriors.items()
    }
    least = {
        name: np.array([best_tau(mean**2 + variance, 4.0), jensen_gap(mean, variance, 4.0)])
        for name, (mean, variance) in posteriors.items()
    }
    figure = plots.new_figure(4, 3)
    ax = figure.add_subplot()
    draw_gaps(ax, curves, least, "b")
    marked = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(marked, list(least.values()))
    paler, darker = (patch.get_xy() for patch in ax.patches)
    assert darker[:, 1].max() == paler[:, 1].min() == pytest.approx(least["b"][1])
    assert darker[:, 1].min() == 0
    assert ax.get_legend_handles_labels()[1] == ["a:  ≥ 0.20", "b:  ≥ 0.35"]
    assert plots.save_figure(figure, tmp_path / "figure.png").stat().st_size > 5_000


def test_rates_are_straight_on_logarithmic_axes():
    lams = np.logspace(-2, 2, 5)
    ax = plots.new_figure(4, 3).add_subplot()
    draw_rates(
        ax, {"falls": np.column_stack([lams, 1 / lams])}, {"λ": np.column_stack([lams, lams])}
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (0.01, 100)
    curve, guide = ax.lines
    assert curve.get_linewidth() > guide.get_linewidth()


def test_what_cannot_be_drawn_is_refused_in_a_sentence(words):
    ax = plots.new_figure(4, 3).add_subplot()
    line = np.array([[1.0, 1.0], [2.0, 2.0]])
    many = {str(k): line for k in range(7)}
    least = dict.fromkeys(many, line[0])
    labels = ["abc", "defgh"]
    for draw, said in (
        (lambda: draw_bells(ax, many, line), "there are 7 bells; expected at most 6"),
        (lambda: draw_gaps(ax, many, least, "0"), "there are 7 curves; expected at most 4"),
        (lambda: draw_rates(ax, many, {}), "there are 7 curves; expected at most 4"),
        (lambda: draw_rates(ax, {}, many), "there are 7 curves; expected at most 2"),
        (
            lambda: plots.words_figure(words, labels, {"M3N": ["abc", "defg"]}),
            "word 1 has 5 images but 4 labels in 'M3N'",
        ),
        (lambda: plots.words_figure(words, ["abc"]), "2 words but 1 label sequences in 'true'"),
        (lambda: plots.words_figure([], []), "no words"),
        (lambda: weight_mosaic(np.ones((2, 5)), (2, 3)), "5 features per label; expected at least"),
        (  # of several edge types
            lambda: plots.draw_transitions(ax, np.zeros((1, 2, 2)), "ab"),
            r"shape \(1, 2, 2\); expected \(2, 2\)",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            draw()
