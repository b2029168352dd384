"""Still figures: one style, the same bytes each time, errors, and the Laplace prior on paper."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex

from medn_edu.explorers import INK, new_figure, save_figure, series_style, styled
from medn_edu.explorers.kit import palette, style
from medn_edu.explorers.kit.panels import label_ends, letter_panels, readable
from medn_edu.explorers.laplace import draw_bells, draw_gaps, draw_rates
from medn_edu.studies.kit.figures import draw_error_bars, draw_errors
from medn_edu.studies.kit.summary import Curve
from medn_edu.theory.laplace import best_tau, jensen_gap


def test_the_style_sheet_has_the_palette():
    settings = mpl.rc_params_from_file(style.STYLE_FILE, use_default_template=False)
    cycle = settings["axes.prop_cycle"].by_key()
    assert len(set(map(str, cycle["linestyle"]))) == len(cycle["linestyle"])
    colours = [vars(palette)[name] for name in ["BLUE", "ORANGE", "GREEN", "PINK", "SKY", "SLATE"]]
    assert list(map(to_hex, cycle["color"])) == list(map(str.lower, colours))
    assert to_hex(settings["text.color"]) == INK.lower()


def test_figures_have_the_style_and_settings_are_put_back():
    with pytest.raises(RuntimeError), styled():
        raise RuntimeError
    assert mpl.rcParams["axes.spines.top"] is True
    assert not new_figure().add_subplot().spines["top"].get_visible()


def test_the_same_figure_gives_the_same_bytes_in_threads_too(tmp_path):
    def draw(name):
        figure = new_figure(3, 2)
        draw_error_bars(figure.add_subplot(), ["a"], [0.5])
        return save_figure(figure, tmp_path / name).read_bytes()

    names = [f"{n}.{suffix}" for suffix in ("png", "svg", "pdf") for n in range(4)]
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(draw, names))
    assert [len(set(drawn[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(list(tmp_path.iterdir())) == len(names), "nothing else is left behind"


def test_pyplot_is_not_needed():
    code = "import sys, medn_edu.explorers; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_known_models_look_different():
    styles = [series_style(name) for name in ("M3N", "L2-CRF", "CRF", "per letter")]
    for key in ("color", "marker"):
        assert len({each[key] for each in styles}) == len(styles)
    assert series_style("somebody's own").keys() == series_style("M3N").keys()


def test_errors_are_drawn_in_the_models_styles():
    n, mean = np.array([100, 200]), np.array([0.4, 0.2])
    found = [Curve(name, n, mean, np.full(2, 0.1), np.full(2, 3)) for name in ("M3N", "CRF")]
    for logarithmic in (False, True):
        ax = new_figure().add_subplot()
        draw_errors(ax, found, logarithmic=logarithmic)
        for curve, line in zip(found, [bars.lines[0] for bars in ax.containers], strict=True):
            look = series_style(curve.name)
            assert (line.get_marker(), line.get_linestyle()) == (look["marker"], look["linestyle"])
            np.testing.assert_array_equal(line.get_ydata(), mean)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["M3N", "CRF"]


def test_error_bars_have_numbers_and_room():
    ax = new_figure().add_subplot()
    draw_error_bars(ax, ["M3N", "CRF"], [0.0, 0.25], [0.0, 0.05])
    assert [text.get_text() for text in ax.texts] == ["0.0 %", "25.0 %"]
    assert ax.get_xlim()[1] > 0.3


def test_bells_stand_on_each_other():
    w = np.linspace(-1, 1, 21)
    wide, middle, narrow, sum_ = (np.column_stack([w, h * (1 - w**2)]) for h in (0.5, 0.3, 0.1, 1))
    ax = new_figure(4, 3).add_subplot()
    draw_bells(ax, {"wide": wide, "middle": middle, "narrow": narrow}, sum_)
    tops = [patch.get_xy()[:, 1].max() for patch in ax.patches]
    np.testing.assert_allclose(tops, [0.5, 0.8, 0.9])
    in_front = [patch.get_zorder() for patch in ax.patches]
    assert in_front == sorted(in_front, reverse=True), "lower ones cover higher ones"
    assert len({patch.get_facecolor() for patch in ax.patches}) == 3
    assert ax.get_ylim()[1] > 1


def test_minima_are_marked_and_one_gap_is_shaded():
    taus, curves, least = np.geomspace(0.05, 20, 61), {}, {}
    for name, (mean, variance) in {"a": (0.0, 0.25), "b": (1.0, 0.5)}.items():
        curves[name] = np.column_stack([taus, jensen_gap(mean, variance, 4.0, taus)])
        best = best_tau(mean**2 + variance, 4.0)
        least[name] = np.array([best, jensen_gap(mean, variance, 4.0)])
    ax = new_figure(4, 3).add_subplot()
    draw_gaps(ax, curves, least, "b")
    marked = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(marked, list(least.values()))
    paler, darker = (patch.get_xy() for patch in ax.patches)
    assert darker[:, 1].max() == paler[:, 1].min() == pytest.approx(least["b"][1])
    assert darker[:, 1].min() == 0
    assert ax.get_legend_handles_labels()[1] == ["a:  ≥ 0.20", "b:  ≥ 0.35"]


def test_rates_are_straight_and_too_many_curves_are_refused():
    lams = np.logspace(-2, 2, 5)
    line = np.column_stack([lams, lams])
    ax = new_figure(4, 3).add_subplot()
    draw_rates(ax, {"falls": np.column_stack([lams, 1 / lams])}, {"λ": line})
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (0.01, 100)
    many = [{str(k): line for k in range(n)} for n in range(8)]
    for draw, said in (
        (lambda: draw_bells(ax, many[7], line), "there are 7 bells; expected at most 6"),
        (lambda: draw_rates(ax, many[5], {}), "there are 5 curves; expected at most 4"),
        (lambda: draw_rates(ax, {}, many[3]), "there are 3 curves; expected at most 2"),
    ):
        with pytest.raises(ValueError, match=said):
            draw()


def test_panels_have_letters_and_curves_their_names_without_overlap():
    figure = new_figure(7, 3)
    with styled():
        left, right = axes = figure.subplots(1, 2, sharey=True)
        left.set_title("falling")
        for k, name in enumerate(["M3N", "CRF", "L1-CRF", "far away"]):
            for ax in axes:
                ax.errorbar([1, 2, 3], [3, 2, 1 + k / 100 + (k == 3)], yerr=0.1, label=name)
    letter_panels(axes)
    label_ends(*axes)
    figure.draw_without_rendering()
    assert [ax.get_title(loc="left") for ax in axes] == ["(a) falling", "(b)"]
    for ax in axes:
        assert [text.get_text() for text in ax.texts] == ["M3N", "CRF", "L1-CRF", "far away"]
        heights = sorted(text.get_position()[1] * ax.bbox.height for text in ax.texts)
        assert min(np.diff(heights)) > 1.2 * 9 * figure.dpi / 72, "lines of text need this much"
        far = ax.texts[3]
        at_end = ax.transAxes.inverted().transform(ax.transData.transform(far.xy))[1]
        assert far.get_position()[1] == pytest.approx(at_end), "nothing pushes it"
    right_edge = left.texts[0].get_window_extent().x1
    assert right_edge < right.get_window_extent().x0, "names have room between panels"


def test_text_in_the_colour_of_a_pale_curve_can_be_read():
    assert readable(palette.BLUE) == palette.BLUE.lower()
    pale, dark = (sum(mpl.colors.to_rgb(c)) for c in (palette.SKY, readable(palette.SKY)))
    assert dark < pale
