"""The kit without a browser: frames, bundles, messages, films, controls, and pictures in layers."""

import io
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import av
import numpy as np
import pytest
from drawings import differing, pixels
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from medn_edu.explorers import Choice, Explorer, Lesson, Slider, Time, new_figure
from medn_edu.explorers.kit.controls import as_control, true_minus
from medn_edu.explorers.kit.films import mp4
from medn_edu.explorers.kit.layers import Layers


class Counted:
    """An Explorer of a line that counts how often it is drawn."""

    def __init__(self, **controls: Any) -> None:
        self.drawn: list[dict[str, Any]] = []
        figure = new_figure(3, 2)
        axes = figure.add_subplot()
        (self.line,) = axes.plot([0, 1], [0, 0])
        axes.set_ylim(-1, 1)
        chosen = controls or {"slope": (-1.0, 1.0, 0.5), "t": Time(0, 3)}
        self.explorer = Explorer(figure, self.update, "a line", name="line", **chosen)
        self.drawn.clear()

    def update(self, **values: Any) -> str:
        self.drawn.append(values)
        if values.get("slope") == 1.0:
            raise ZeroDivisionError("too steep")
        self.line.set_ydata([0, values.get("slope", 0) + 0.1 * values.get("t", 0)])
        return "now " + ", ".join(f"{key} {value}" for key, value in values.items())


class Wire:
    """Stands in for the browser: keeps what the kernel sends."""

    def __init__(self, counted: Counted) -> None:
        with patch("ipywidgets.Widget.on_msg", autospec=True) as opened:
            counted.explorer._repr_mimebundle_()
        self.view, self.answer = opened.call_args.args
        self.explorer = counted.explorer
        self.room = dict(self.view.room)
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self.view.send = lambda content, buffers=None: self.sent.append((content, buffers or []))

    def ask(self, kind: str, serial: int = 1, have: Any = (), **positions: int) -> None:
        message = {"kind": kind, "view": "v", "serial": serial, "positions": positions}
        self.answer(self.view, {**message, "room": self.room, "have": have}, [])


def line(**controls: Any) -> Explorer:
    return Counted(**controls).explorer


def test_bundle_holds_live_view_picture_and_sentence() -> None:
    explorer = line().set(slope=0.5)
    data, metadata = explorer._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == explorer.summary == "now slope 0.5, t 0"
    assert pixels(data["image/png"]).shape == (240, 360, 3)
    assert metadata["image/png"] == {"alt": "a line", "width": 288}
    assert metadata["medn_edu"] == {"moves": True}
    assert line().set(slope=0.5)._repr_mimebundle_()[0]["image/png"] == data["image/png"]


def test_each_frame_is_drawn_once() -> None:
    counted = Counted()
    frames = counted.explorer.stack()
    assert [frame.summary for frame in frames] == [f"now slope −1.0, t {t}" for t in range(4)]
    assert len({frame.png for frame in frames}) == 4
    assert [frame.png for frame in counted.explorer.stack()] == [frame.png for frame in frames]
    assert len(counted.drawn) == 4
    [axes] = counted.explorer.figure.axes
    before = axes.get_position().bounds
    counted.explorer.set(slope=0.5).frame()
    assert axes.get_position().bounds == before, "axes stay"


def test_browser_gets_the_frame_it_asked_for_and_every_other_move() -> None:
    wire = Wire(Counted())
    wire.ask("draw", slope=3, t=2, serial=7)
    frame = wire.view.frame
    assert (frame["serial"], frame["view"], frame["summary"]) == (7, "v", "now slope 0.5, t 2")
    assert wire.explorer.values == {"slope": 0.5, "t": 2}
    wire.explorer.set(slope=0.0)
    assert wire.view.frame["positions"] == {"slope": 2, "t": 2}
    assert wire.view.frame["view"] == ""


def test_stack_is_sent_one_by_one_without_what_the_browser_has() -> None:
    counted = Counted()
    wire = Wire(counted)
    have: list[int] = []
    for _ in range(4):
        wire.ask("stack", slope=1, t=0, serial=3, have=have)
        content, buffers = wire.sent[-1]
        assert (content["kind"], content["serial"]) == ("stack", 3)
        assert len(buffers) == 1
        have.append(content["position"])
    assert have == [0, 1, 2, 3]
    assert all(values["slope"] == -0.5 for values in counted.drawn[1:])


def test_pictures_fit_the_room_that_the_page_has() -> None:
    wire = Wire(Counted())
    saved = wire.explorer.frame().png
    inches = wire.explorer.figure.get_figwidth()
    for width, ratio, share in ((288, 2.0, 1.0), (240, 1.5, 240 / 288), (144, 1.0, 0.7)):
        wire.room = {"width": width, "ratio": ratio}
        wire.ask("draw", slope=2, t=0)
        assert pixels(wire.view.frame["png"]).shape[1] == pytest.approx(width * ratio, abs=1)
        assert wire.explorer.figure.get_figwidth() == pytest.approx(share * inches), (
            "words keep their size"
        )
    data, metadata = wire.explorer._repr_mimebundle_()
    assert metadata["image/png"]["width"] == 288
    assert pixels(data["image/png"]).shape == pixels(saved).shape
    for wrong in (
        {"width": 0, "ratio": 1},
        {"width": 5000, "ratio": 1},
        {"width": 200, "ratio": -1},
    ):
        wire.room = wrong
        wire.ask("draw", slope=2, t=0)
        assert "no room" in wire.sent[-1][0]["text"]


def test_the_next_step_is_drawn_ahead_but_not_shown() -> None:
    counted = Counted()
    wire = Wire(counted)
    before = wire.view.frame["summary"], counted.explorer.values
    wire.ask("prepare", slope=3, t=0)
    wire.ask("prepare", slope=4, t=0)  # a failure ahead is told when it is met
    assert (wire.view.frame["summary"], counted.explorer.values) == before
    assert wire.sent == []
    drawn = len(counted.drawn)
    wire.ask("draw", slope=3, t=0)
    assert wire.view.frame["summary"] == "now slope 0.5, t 0"
    wire.ask("moved", slope=2, t=3)  # scrubbing says where it is, and draws nothing
    assert counted.explorer.values == {"slope": 0.0, "t": 3}
    assert len(counted.drawn) == drawn
    wire.ask("draw", slope=4, t=0)
    assert wire.sent[-1][0]["text"] == "ZeroDivisionError: too steep"
    wire.ask("draw", slope=3, t=0)
    assert wire.view.frame["summary"] == "now slope 0.5, t 0"


def test_a_broken_message_is_answered_and_changes_nothing() -> None:
    wire = Wire(Counted())
    before = wire.explorer.values
    for positions in ({"slope": 9, "t": 0}, {"slope": -1, "t": 0}, {"t": 0}):
        wire.sent.clear()
        wire.ask("draw", **positions)
        assert [content["kind"] for content, _ in wire.sent] == ["failed"]
        assert wire.explorer.values == before


def test_the_browser_is_told_the_names_of_controls() -> None:
    counted = Counted(slope=Slider(-1, 0, 0.25, label="rise"), mark_it=True)
    rise, mark = Wire(counted).view.controls
    assert (rise["label"], mark["label"]) == ("rise", "mark it")


def test_animations_are_saved_and_sent(tmp_path: Any) -> None:
    counted = Counted()
    path = counted.explorer.save(tmp_path / "line.gif")
    with Image.open(path) as animation:
        assert animation.n_frames == 4
        assert animation.info["loop"] == 0
    wire = Wire(counted)
    wire.ask("save", slope=0, t=0)
    content, buffers = wire.sent[-1]
    assert content["file"] == "line.gif"
    assert buffers[0] == path.read_bytes()
    explorer = line(eta=(0, 4, 1), mark=True)
    assert len(explorer.stack("mark")) == 2
    assert len(explorer.stack()) == 5  # without a time, along the control with most values
    explorer = line(slope=(-1, 0.5, 0.5), t=Time(0, 3, per_second=2))
    for along, rate in ((None, 2), ("slope", 6)):
        with Image.open(explorer.save(path, along)) as animation:
            assert animation.info["duration"] == pytest.approx(1000 / rate, abs=10)


def test_animation_keeps_rare_colours(tmp_path: Any) -> None:
    figure = new_figure(4, 3)
    axes = figure.add_subplot()
    axes.imshow(np.linspace(0, 1, 400).reshape(20, 20), cmap="viridis")
    (mark,) = axes.plot([3], [3], "s", ms=8, color="#D55E00", mec="none")
    explorer = Explorer(figure, lambda t: str(mark.set_xdata([t])), "a mark", t=Time(1, 15))
    with Image.open(explorer.save(tmp_path / "mark.gif")) as animation:
        colours = {colour for _, colour in animation.convert("RGB").getcolors(1 << 20)}
    assert min(np.abs(np.array(c) - (0xD5, 0x5E, 0)).max() for c in colours) <= 8
    assert (255, 255, 255) in colours


def test_film_is_saved(tmp_path: Any) -> None:
    explorer = line()
    with av.open(explorer.save(tmp_path / "line.mp4")) as film:
        pictures = [picture.to_ndarray(format="rgb24") for picture in film.decode(video=0)]
        assert film.streams.video[0].codec_context.name == "h264"
        assert film.streams.video[0].average_rate == 6
    for frame, picture in zip(explorer.stack(), pictures, strict=True):
        assert np.abs(picture - pixels(frame.png)).mean() < 2


def test_odd_sizes_gain_a_white_line() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (33, 21), "black").save(buffer, "png")
    with av.open(io.BytesIO(mp4([buffer.getvalue()] * 3, 4))) as film:
        picture = next(film.decode(video=0)).to_ndarray(format="rgb24")
    assert picture.shape == (22, 34, 3)
    assert picture[:20, :32].max() < 16 < 160 < min(picture[21].min(), picture[:, 33].min())


@patch.dict(sys.modules, {"av": None})
def test_film_needs_its_library(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"needs the library av.*medn_edu\[lab\].*or save a \.gif"):
        line().save(tmp_path / "line.mp4")
    assert list(tmp_path.iterdir()) == []


def test_lessons_are_moved_to_and_judged() -> None:
    explorer = line()
    for slope, rises in ((0.5, True), (-0.5, False)):
        lesson = Lesson({"slope": slope}, "it rises", lambda slope, t: slope > 0)
        assert explorer.check(lesson) is rises
        assert explorer.values["slope"] == slope


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    silent = Explorer(new_figure(2, 2), lambda a: None, "nothing", a=[1])
    for attempt, error, words in (
        (lambda: Explorer(new_figure(2, 2), str, "nothing"), ValueError, "at least one control"),
        (lambda: line(a=3.0), TypeError, "control 'a' is a float"),
        (lambda: line(a=Time(0, 1), b=Time(0, 1)), ValueError, "a and b are both a Time"),
        (silent.frame, TypeError, "expected one sentence"),
        (lambda: line().save("line.avi"), ValueError, r"\.gif or \.mp4"),
        (lambda: line().save("line.gif", "zeta"), ValueError, "'zeta'; the controls are slope, t"),
        (lambda: Slider(1, 0), ValueError, "low < high"),
        (lambda: Slider(0, 1, 0), ValueError, "step > 0"),
        (lambda: Slider(0, 1, 1e-5), ValueError, "too fine"),
        (lambda: Slider(0, 1, 0.1, 2), ValueError, "outside"),
        (lambda: Slider(0, float("nan"), 0.1), ValueError, "from 0 to nan by 0.1: expected finite"),
        (lambda: Time(0, "ten"), ValueError, "finite numbers"),
        (lambda: Choice([]), ValueError, "at least one option"),
        (lambda: Choice(["a"], "b"), ValueError, "not a choice"),
        (lambda: Choice([1, 2, 1]), ValueError, "option 1 twice"),
    ):
        with pytest.raises(error, match=words):
            attempt()


def test_short_forms() -> None:
    kinds = [as_control("c", form).kind for form in ((0, 1), (0, 1, 0.5), ["x", "y"], True)]
    assert kinds == ["slider", "slider", "choice", "check"]
    assert Choice([1, 0], 0).start == 1, "0 is a choice like others"
    assert Slider(0.5, 2.5, 1).texts == ("0.5", "1.5", "2.5"), "nothing is rounded away"
    assert Slider(-1, 1, 1).texts == ("−1", "0", "1")
    said = true_minus("L1-M3N from -1 to (-0.5, -∞), 2-3, 1e-05")
    assert said == "L1-M3N from −1 to (−0.5, −∞), 2-3, 1e-05"


@given(st.integers(-50, 50), st.integers(1, 40), st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5, 1.0]))
def test_sliders_have_exact_ends_and_print_what_they_hold(low: int, n: int, step: float) -> None:
    control = Slider(float(low), low + n * step, step)
    assert len(control.values) == n + 1
    assert control.values[0] == low
    assert np.isclose(control.values[-1], low + n * step, rtol=0, atol=1e-9)
    assert [float(text.replace("−", "-")) for text in control.texts] == pytest.approx(
        control.values
    )
    assert len(set(control.texts)) == n + 1
    assert all(control.position(value) == i for i, value in enumerate(control.values))


@pytest.fixture
def scene() -> SimpleNamespace:
    figure = new_figure(4, 3)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], label="still")
    (line,) = left.plot([0, 1], [1, 0], lw=4, label="moves")
    (bar,) = right.bar([0], [1])
    right.plot([0], [0.5], "o", ms=20, color="k")  # still, and above what moves
    text, note = right.text(0, 0.2, "words"), figure.text(0.5, 0.02, "note")
    left.legend()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # settled
    artists = {"line": line, "bar": bar, "text": text, "note": note}
    return SimpleNamespace(figure=figure, left=left, right=right, **artists)


# What explorers do with artists, and what they should not; at last a figure drawn whole every time.
CHANGES: list[Any] = [
    lambda s: None,
    lambda s: s.line.set_ydata([0.2, 0.9]),
    lambda s: s.bar.set_height(0.3),
    lambda s: s.text.set_text("other words"),
    lambda s: s.note.set_text("another note"),
    lambda s: s.left.set_xlim(-1, 2),
    lambda s: vars(s).update(shade=s.left.fill_between([0, 1], [0, 1], alpha=0.3)),
    lambda s: s.shade.remove(),
    lambda s: s.right.plot([0.1, 0.2], [0, 1], zorder=9),
    lambda s: s.right.lines[0].remove(),
    lambda s: s.left.set_facecolor("0.9"),
    lambda s: s.left.set_visible(False),
    lambda s: s.left.set_visible(True),
    lambda s: s.left.set_title("title"),
    lambda s: s.left.grid(True),
    lambda s: s.left.axvspan(0, 0.5, zorder=0),
    lambda s: s.left.get_legend().get_texts()[0].set_text("part of a part"),
    lambda s: s.left.set_axis_off(),
    lambda s: s.right.twinx().plot([0, 0.3], [3, 4]),
    lambda s: s.right.inset_axes([0.5, 0.5, 0.4, 0.4]).plot([0, 1], [0, 1]),
    lambda s: s.bar.set_height(0.8),
    lambda s: (s.right.clear(), s.right.plot([0, 3], [0, 3])),
    lambda s: s.figure.clear(),
    lambda s: s.figure.add_subplot(projection="3d").plot([0, 1], [0, 1], [0, 1], lw=5),
    lambda s: s.figure.axes[0].lines[0].set_data_3d([0, 1], [0, 1], [0, 0.2]),
    lambda s: s.figure.axes[0].view_init(60, 10),
]


def test_every_change_is_shown(scene: SimpleNamespace) -> None:
    layers = Layers(scene.figure)
    layers.resize(60)
    pictures = []
    for step, change in enumerate(CHANGES):
        change(scene)
        pictures.append(layers.render())
        assert differing(pictures[-1], scene.figure) == 0, step
    assert len(set(pictures)) >= len(pictures) - 2  # twice something is taken away again


def test_what_stands_still_is_drawn_once(scene: SimpleNamespace) -> None:
    layers, whole = Layers(scene.figure), FigureCanvasAgg.draw
    layers.resize(60)
    with patch.object(FigureCanvasAgg, "draw", autospec=True, side_effect=whole) as draw:
        for height in (1.0, 0.5, 0.7, 0.9):
            scene.bar.set_height(height)
            layers.render()
    assert draw.call_count <= 2


def test_a_change_from_outside_and_a_failed_update_are_not_lost() -> None:
    counted = Counted()
    explorer = counted.explorer
    explorer.set(slope=-1.0).frame()
    explorer.figure.axes[0].set_title("a title")
    assert differing(explorer.set(slope=-0.5).frame().png, explorer.figure) == 0
    counted.line.set_visible(False)
    with pytest.raises(ZeroDivisionError, match="too steep"):
        explorer.set(slope=1.0).frame()
    last = explorer.set(slope=0.5).frame().png
    assert differing(last, explorer.figure) == 0
