"""The Explorer without a browser: frames, bundles, messages, animations, lessons."""

from __future__ import annotations

import io
import sys
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from medn_edu.explorers import Check, Choice, Control, Explorer, Lesson, Slider, Time, new_figure
from medn_edu.explorers.kit.controls import as_control
from medn_edu.explorers.kit.films import mp4


class Counted:
    """An Explorer of a line that counts how often it is drawn."""

    def __init__(self, **controls: Any) -> None:
        self.drawn: list[dict[str, Any]] = []
        figure = new_figure(3, 2)
        axes = figure.add_subplot()
        (self.line,) = axes.plot([0, 1], [0, 0])
        axes.set_ylim(-1, 1)
        chosen = controls or {"slope": (-1.0, 1.0, 0.5), "t": Time(0, 3)}
        self.explorer = Explorer(figure, self.update, self.alt, name="line", **chosen)
        self.drawn.clear()

    def update(self, **values: Any) -> str:
        self.drawn.append(values)
        if values.get("slope") == 1.0:
            raise ZeroDivisionError("too steep")
        self.line.set_ydata([0, values.get("slope", 0) + 0.1 * values.get("t", 0)])
        return "now " + ", ".join(f"{key} {value}" for key, value in values.items())

    def alt(self, **values: Any) -> str:
        return f"a line with {len(values)} controls"


class Wire:
    """Stands in for the browser: keeps what the kernel sends."""

    def __init__(self, counted: Counted) -> None:
        counted.explorer._repr_mimebundle_()
        self.view = counted.explorer._view
        self.explorer = counted.explorer
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self.view.send = lambda content, buffers=None: self.sent.append((content, buffers or []))

    def ask(self, kind: str, slope: int, t: int = 0, serial: int = 1, **more: Any) -> None:
        positions = {"slope": slope, "t": t}
        message = {"kind": kind, "view": "v", "serial": serial, "positions": positions, **more}
        self.explorer._answer(self.view, message, [])


def size(png: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(png)) as picture:
        return picture.size


def test_bundle_holds_live_view_picture_and_sentence() -> None:
    explorer = Counted().explorer.set(slope=0.5)
    data, metadata = explorer._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == explorer.summary == "now slope 0.5, t 0"
    assert size(data["image/png"]) == (360, 240)
    assert metadata["image/png"] == {"alt": "a line with 2 controls", "width": 288}
    again = Counted().explorer.set(slope=0.5)._repr_mimebundle_()[0]
    assert again["image/png"] == data["image/png"]


def test_each_frame_is_drawn_once() -> None:
    counted = Counted()
    frames = counted.explorer.stack()
    assert [frame.summary for frame in frames] == [f"now slope -1.0, t {t}" for t in range(4)]
    assert len({frame.png for frame in frames}) == 4
    assert [frame.png for frame in counted.explorer.stack()] == [frame.png for frame in frames]
    assert len(counted.drawn) == 4
    [axes] = counted.explorer.figure.axes  # the figure is never cleared, and axes stay
    before = axes.get_position().bounds
    counted.explorer.set(slope=0.5).frame()
    assert counted.explorer.figure.axes == [axes]
    assert axes.get_position().bounds == before
    assert counted.line in axes.lines


def test_browser_gets_the_frame_it_asked_for() -> None:
    wire = Wire(Counted())
    wire.ask("draw", slope=3, t=2, serial=7)
    frame = wire.view.frame
    assert (frame["serial"], frame["view"], frame["summary"]) == (7, "v", "now slope 0.5, t 2")
    assert wire.explorer.values == {"slope": 0.5, "t": 2}


def test_stack_is_sent_in_portions_without_what_the_browser_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("medn_edu.explorers.kit.explorer.SECONDS_PER_ANSWER", -1.0)
    counted = Counted()
    wire = Wire(counted)
    have: list[int] = []
    for _ in range(4):
        wire.ask("stack", slope=1, serial=3, have=have)
        content, buffers = wire.sent[-1]
        assert content["kind"] == "stack"
        assert content["serial"] == 3
        assert len(content["frames"]) == len(buffers) == 1
        have.append(content["frames"][0]["position"])
    assert have == [0, 1, 2, 3]
    assert all(values["slope"] == -0.5 for values in counted.drawn[1:])


def test_the_next_step_is_drawn_ahead_but_not_shown() -> None:
    counted = Counted()
    wire = Wire(counted)
    before = wire.view.frame["summary"], counted.explorer.values
    wire.ask("prepare", slope=3)
    wire.ask("prepare", slope=4)  # a failure ahead is told when it is met
    assert (wire.view.frame["summary"], counted.explorer.values) == before
    assert wire.sent == []
    drawn = len(counted.drawn)
    wire.ask("draw", slope=3)
    assert wire.view.frame["summary"] == "now slope 0.5, t 0"
    wire.ask("moved", slope=2, t=3)  # scrubbing says where it is, and draws nothing
    assert counted.explorer.values == {"slope": 0.0, "t": 3}
    assert len(counted.drawn) == drawn
    wire.ask("draw", slope=4)
    assert wire.sent[-1][0]["text"] == "ZeroDivisionError: too steep"
    wire.ask("draw", slope=3)
    assert wire.view.frame["summary"] == "now slope 0.5, t 0"


def test_a_broken_message_is_answered_and_changes_nothing() -> None:
    for positions in ({"slope": 9, "t": 0}, {"slope": -1, "t": 0}, {"t": 0}):
        wire = Wire(Counted())
        before = wire.explorer.values
        wire.explorer._answer(wire.view, {"kind": "draw", "view": "v", "positions": positions}, [])
        assert wire.sent[-1][0]["kind"] == "failed"
        assert wire.explorer.values == before


def test_set_moves_the_browser_too() -> None:
    counted = Counted()
    wire = Wire(counted)
    counted.explorer.set(slope=0.5)
    assert wire.view.frame["positions"] == {"slope": 3, "t": 0}
    assert wire.view.frame["view"] == ""


def test_animation_is_saved_and_sent(tmp_path: Any) -> None:
    counted = Counted()
    path = counted.explorer.save(tmp_path / "line.gif")
    with Image.open(path) as animation:
        assert animation.n_frames == 4
        assert animation.info["loop"] == 0
    wire = Wire(counted)
    wire.ask("save", slope=0)
    content, buffers = wire.sent[-1]
    assert content["file"] == "line.gif"
    assert buffers[0] == path.read_bytes()


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


def test_any_control_can_be_animated(tmp_path: Any) -> None:
    explorer = Counted(eta=(0, 4, 1), mark=True).explorer
    with pytest.raises(ValueError, match="no control 'zeta'; the controls are eta, mark"):
        explorer.save(tmp_path / "line.gif", "zeta")
    assert len(explorer.stack("mark")) == 2
    assert len(explorer.stack()) == 5  # without a time, along the control with most values


def test_film_is_saved(tmp_path: Any) -> None:
    explorer = Counted().explorer
    with av.open(explorer.save(tmp_path / "line.mp4")) as film:
        pictures = [picture.to_ndarray(format="rgb24") for picture in film.decode(video=0)]
        assert film.streams.video[0].codec_context.name == "h264"
        assert film.streams.video[0].average_rate == 6
    for frame, picture in zip(explorer.stack(), pictures, strict=True):
        drawn = np.asarray(Image.open(io.BytesIO(frame.png)).convert("RGB"), dtype=float)
        height, width, _ = drawn.shape
        assert picture.shape == (height + height % 2, width + width % 2, 3)
        assert np.abs(picture[:height, :width] - drawn).mean() < 2


def test_odd_sizes_gain_a_white_line() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (33, 21), "black").save(buffer, "png")
    with av.open(io.BytesIO(mp4([buffer.getvalue()] * 3, 4))) as film:
        picture = next(film.decode(video=0)).to_ndarray(format="rgb24")
    assert picture.shape == (22, 34, 3)
    assert picture[:20, :32].max() < 16 < 160 < min(picture[21].min(), picture[:, 33].min())


def test_film_needs_its_library(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ValueError, match=r"needs the library av.*medn_edu\[lab\].*or save \.gif"):
        Counted().explorer.save(tmp_path / "line.mp4")
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        Counted().explorer.save(tmp_path / "line.avi")
    assert list(tmp_path.iterdir()) == []


def test_lessons_are_moved_to_and_judged() -> None:
    explorer = Counted().explorer
    assert explorer.check(Lesson({"slope": 0.5}, "it rises", lambda slope, t: slope > 0))
    assert explorer.values["slope"] == 0.5
    assert not explorer.check(Lesson({"slope": -0.5}, "it rises", lambda slope, t: slope > 0))


def test_wrong_controls_are_refused() -> None:
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, ValueError, "at least one control"),
        ({"a": 3.0}, TypeError, "control 'a' is a float"),
        ({"a": Time(0, 1), "b": Time(0, 1)}, ValueError, "a and b are both a Time"),
    ]
    for controls, error, words in wrong:
        with pytest.raises(error, match=words):
            Explorer(new_figure(2, 2), lambda **_: "", "nothing", **controls)


IMPOSSIBLE: list[tuple[type[Control], tuple[Any, ...], str]] = [
    (Slider, (1, 0), "low < high"),
    (Slider, (0, 1, 0), "step > 0"),
    (Slider, (0, 1, 1e-5), "too fine"),
    (Slider, (0, 1, 0.1, 2), "outside"),
    (Slider, (0, float("nan"), 0.1), "from 0 to nan by 0.1: expected finite numbers"),
    (Slider, (0, 1, float("inf")), "finite numbers"),
    (Time, (0, "ten"), "finite numbers"),
    (Choice, ([],), "at least one option"),
    (Choice, (["a"], "b"), "not a choice"),
    (Choice, ([1, 2, 1],), "option 1 twice"),
]


def test_impossible_controls_say_why() -> None:
    for make, arguments, words in IMPOSSIBLE:
        with pytest.raises(ValueError, match=words):
            make(*arguments)


def test_unknown_controls_and_values_are_refused_and_change_nothing() -> None:
    explorer = Counted().explorer
    before = explorer.values
    with pytest.raises(ValueError, match="no control 'speed'; the controls are slope, t"):
        explorer.set(t=2, speed=1)
    with pytest.raises(ValueError, match="outside"):
        explorer.set(t=2, slope=5)
    assert explorer.values == before


def test_update_must_return_a_sentence() -> None:
    explorer = Explorer(new_figure(2, 2), lambda a: None, "nothing", a=(0, 1))
    with pytest.raises(TypeError, match="expected one sentence"):
        explorer.frame()


def test_short_forms() -> None:
    kinds = [as_control("c", form).kind for form in ((0, 1), (0, 1, 0.5), ["x", "y"], True)]
    assert kinds == ["slider", "slider", "choice", "check"]
    assert Check(True).values[Check(True).start] is True


@given(st.integers(-50, 50), st.integers(1, 40), st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5, 1.0]))
def test_sliders_have_exact_ends_and_print_what_they_hold(low: int, n: int, step: float) -> None:
    control = Slider(float(low), low + n * step, step)
    assert len(control.values) == n + 1
    assert control.values[0] == low
    assert np.isclose(control.values[-1], low + n * step, rtol=0, atol=1e-9)
    assert [float(text) for text in control.texts] == pytest.approx(control.values)
    assert len(set(control.texts)) == n + 1
    assert all(control.position(value) == i for i, value in enumerate(control.values))


def test_a_change_from_outside_and_a_failed_update_are_not_lost() -> None:
    figure = new_figure(3, 2)
    axes = figure.subplots()
    (line,) = axes.plot([0, 1], [0, 1])

    def update(x: int) -> str:
        line.set_visible(x != 2)
        line.set_ydata([0, x])
        if x == 1:
            raise ValueError("not today")
        return f"x is {x}."

    explorer = Explorer(figure, update, "a line", x=(0, 3, 1))
    plain = explorer.set(x=0).frame().png
    axes.set_title("a title")
    titled = explorer.set(x=2).frame().png
    assert titled != plain
    with pytest.raises(ValueError, match="not today"):
        explorer.set(x=1).frame()
    last = explorer.set(x=3).frame().png
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = np.asarray(Image.open(io.BytesIO(last)), dtype=float)
    assert np.abs(shown - np.asarray(canvas.buffer_rgba())[..., :3]).max() < 40
