"""`Explorer`: a matplotlib figure that responds when a learner moves a slider.

The figure is drawn once.  A move changes its artists in place and renders one PNG, which the browser
swaps in.  The browser asks for one picture at a time.  When that has arrived, it asks for the newest
values.  One control may be the *time*, which the browser plays without the kernel.  If no kernel runs,
the page shows the last picture and its sentence, which are part of the saved output.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anywidget
import traitlets
from PIL import Image

from medn_edu.explorers.kit.controls import Control, as_control, true_minus
from medn_edu.explorers.kit.films import gif, save_film
from medn_edu.explorers.kit.layers import Layers
from medn_edu.explorers.kit.picture import show_with_caption
from medn_edu.explorers.kit.static_grid import MOST_STATES, static_grid

HERE = pathlib.Path(__file__).parent
CSS_DPI = 96
RATIO = 1.25  # pixels of a saved picture for each of the screen's: sharp, and still small
MOST_RATIO = 2.0
NARROWEST = 0.7  # of the width a figure is made for; in less room it is shown smaller
KEPT_FRAMES = 256


@dataclass(frozen=True)
class Frame:
    """One picture.

    Parameters
    ----------
    png : bytes
        The picture.
    summary : str
        The sentence with its numbers.
    alt : str
        What it shows, in words.
    """

    png: bytes
    summary: str
    alt: str


@dataclass(frozen=True)
class Lesson:
    """What a move teaches.

    Parameters
    ----------
    move : mapping of str to value
        The values to set.
    fact : str
        What is then true, in one sentence.
    holds : callable
        ``holds(**values)`` computes whether the fact is true.  Tests call it.
    """

    move: Mapping[str, Any]
    fact: str
    holds: Callable[..., bool]


def lesson(fact: str, move: Mapping[str, Any]) -> Callable[[Callable[..., bool]], Lesson]:
    """Turn the decorated function into a `Lesson`, so that fact, move and check are in one place."""
    return lambda holds: Lesson(move, fact, holds)


@dataclass(frozen=True)
class Exhibit:
    """An explorer on its own page of ``medn-edu app``; the tests go through all of them."""

    title: str
    chapter: str  # that explains it, by its name in the syllabus
    explorer: Callable[[], Explorer]
    place: int = 0  # among those of its chapter

    @property
    def name(self) -> str:
        """Name of the function that makes it."""
        return self.explorer.__name__


class _View(anywidget.AnyWidget):
    """The browser's side: the controls as they are declared, and the newest frame."""

    _esm = HERE / "explorer.js"
    _css = HERE / "explorer.css"
    controls: traitlets.List[Any] = traitlets.List().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    width = traitlets.Int().tag(sync=True)
    room = traitlets.Dict().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)


class Explorer:
    """A figure with controls, for notebooks.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure, with its artists in place.  It is never cleared.
    update : callable
        ``update(**values)`` changes the artists to show ``values`` and returns one sentence with
        the numbers now shown.  The picture may depend only on the values.
    alt : str or callable
        What the figure shows, for those who cannot see it; ``alt(**values)`` if it depends on them.
    caption : str
        What a reader sees and the one thing to notice; Markdown, shown below the figure.
    lessons : sequence of Lesson
        What the moves teach.
    name : str
        File name of saved animations, without its extension.
    **controls : Control, tuple, list or bool
        What can be moved: ``(low, high, step)``, a list of choices, True or False, or a `Slider`,
        `Time`, `Choice` or `Check`.

    Raises
    ------
    TypeError
        If a control is none of these, or ``update`` does not return a sentence.
    ValueError
        If there are no controls, or more than one `Time`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(3, 2))
    >>> (line,) = figure.subplots().plot([0, 1], [0, 1])
    >>> def update(slope):
    ...     line.set_ydata([0, slope])
    ...     return f"The line rises by {slope:.1f}."
    >>> explorer = Explorer(figure, update, "A line through the origin", slope=(0, 1, 0.1))
    >>> explorer.set(slope=0.5).summary
    'The line rises by 0.5.'
    """

    def __init__(
        self,
        figure: Any,
        update: Callable[..., str],
        alt: str | Callable[..., str],
        *,
        caption: str = "",
        lessons: Sequence[Lesson] = (),
        name: str = "explorer",
        **controls: Any,
    ) -> None:
        if not controls:
            raise ValueError("an Explorer needs at least one control, such as eta=(-3, 3, 0.1).")
        self.figure = figure
        self.caption = caption
        self.lessons = tuple(lessons)
        self.name = name
        self._update = update
        self._alt = alt
        self._controls = {key: as_control(key, declared) for key, declared in controls.items()}
        times = [key for key, control in self._controls.items() if control.kind == "time"]
        if len(times) > 1:
            raise ValueError(f"{' and '.join(times)} are both a Time; an Explorer has at most one.")
        self._time = times[0] if times else None
        longest = max(self._controls, key=lambda key: len(self._controls[key].values))
        self._animated = self._time or longest
        self._positions = {key: control.start for key, control in self._controls.items()}
        self._frames: OrderedDict[tuple[int, ...], Frame] = OrderedDict()
        self._view: _View | None = None
        self._width = figure.get_figwidth()
        self._layout = figure.get_layout_engine()
        self._room: dict[str, float] = {}
        self._share = 0.0  # of its width
        self._layers = Layers(figure)
        self._fit(self._widest())

    # -- what Python asks ---------------------------------------------------------------------

    @property
    def controls(self) -> dict[str, Control]:
        """The controls by name."""
        return dict(self._controls)

    @property
    def values(self) -> dict[str, Any]:
        """The values now set."""
        return {key: self._controls[key].values[i] for key, i in self._positions.items()}

    @property
    def summary(self) -> str:
        """The sentence with the numbers now shown."""
        return self.frame().summary

    def set(self, **values: Any) -> Explorer:
        """Move controls, here and in the browser.

        Parameters
        ----------
        **values
            New values by control; the others stay.

        Returns
        -------
        Explorer
            Itself.

        Raises
        ------
        ValueError
            If there is no such control or value.
        """
        moved = {key: self._control(key).position(value) for key, value in values.items()}
        self._positions.update(moved)
        if self._view is not None:
            self._view.frame = self._state({})
        return self

    def frame(self, positions: Mapping[str, int] | None = None) -> Frame:
        """Return the picture at ``positions`` of the controls (those now set by default)."""
        positions = self._positions if positions is None else positions
        key = tuple(positions[name] for name in self._controls)
        if key not in self._frames:
            self._frames[key] = self._draw(positions)
            if len(self._frames) > KEPT_FRAMES:
                self._frames.popitem(last=False)
        self._frames.move_to_end(key)
        return self._frames[key]

    def stack(self, along: str | None = None) -> list[Frame]:
        """Return a picture for every value of one control, while the others stay as they are.

        Parameters
        ----------
        along : str, optional
            The control; by default the time, or else the one with most values.

        Returns
        -------
        list of Frame
            The pictures.

        Raises
        ------
        ValueError
            If there is no such control.
        """
        along = self._animated if along is None else along
        count = len(self._control(along).values)
        return [self.frame({**self._positions, along: i}) for i in range(count)]

    def save(
        self, path: str | pathlib.Path, along: str | None = None, per_second: float | None = None
    ) -> pathlib.Path:
        """Save the animation along one control, as ``.gif`` or ``.mp4``.

        Parameters
        ----------
        path : path-like
            Where to save it.  The extension decides the format.
        along : str, optional
            The control; by default the time, or else the one with most values.
        per_second : float, optional
            Pictures per second.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If the extension is neither of these, there is no such control, or an ``.mp4`` needs the
            library ``av`` and it is missing (``pip install 'medn_edu[lab]'`` installs it).
        """
        frames = self.stack(along)
        rate = per_second or self._controls[along or self._animated].per_second
        return save_film(path, [frame.png for frame in frames], rate)

    def static_grid(self, most: int = MOST_STATES) -> list[dict[str, int]]:
        """Return the settings that a page without a kernel should have pictures of.

        Those that a reader needs first come first: what is set now, and by the lessons; the time there;
        every control by itself; and a coarse grid.

        Parameters
        ----------
        most : int
            How many settings.

        Returns
        -------
        list of dict
            Positions of the controls by name, for `frame`.
        """
        moves = [each.move for each in self.lessons]
        return static_grid(self._controls, moves, self._positions, most)

    def check(self, lesson: Lesson) -> bool:
        """Make the move of a lesson and return whether its fact holds."""
        self.set(**lesson.move)
        return bool(lesson.holds(**self.values))

    def _control(self, key: str) -> Control:
        if key not in self._controls:
            known = ", ".join(self._controls)
            raise ValueError(f"there is no control {key!r}; the controls are {known}.")
        return self._controls[key]

    # -- drawing ------------------------------------------------------------------------------

    def _draw(self, positions: Mapping[str, int]) -> Frame:
        values = {key: self._controls[key].values[i] for key, i in positions.items()}
        summary = self._update(**values)
        if not isinstance(summary, str):
            raise TypeError(f"update returned {summary!r}; expected one sentence with the numbers.")
        alt = self._alt(**values) if callable(self._alt) else self._alt
        return Frame(self._layers.render(), true_minus(summary), true_minus(alt))

    def _widest(self) -> dict[str, float]:
        """Return the room that the figure was made for, as the saved notebook shows it."""
        return {"width": round(self._width * CSS_DPI), "ratio": RATIO}

    def _fit(self, room: Mapping[str, float]) -> None:
        """Draw for so many of the screen's pixels, from now on.

        The figure is laid out once: axes that stay where they are are calmer, and 25 ms quicker.
        """
        room = {"width": float(room["width"]), "ratio": float(room["ratio"])}
        if room == self._room:
            return
        widest = self._width * CSS_DPI
        if not (0 < room["width"] <= widest + 1 and room["ratio"] > 0):
            raise ValueError(f"there is no room of {room}.")
        share = min(1.0, max(NARROWEST, room["width"] / widest))
        if share != self._share:
            self.figure.set_figwidth(share * self._width)
            controls = self._controls.items()
            self._update(**{key: control.values[control.start] for key, control in controls})
            self.figure.set_layout_engine(self._layout)
            self.figure.draw_without_rendering()
            self.figure.set_layout_engine("none")
        ratio = min(MOST_RATIO, max(0.5, room["ratio"]))
        self._layers.resize(ratio * room["width"] / (share * self._width))
        self._frames.clear()
        self._share, self._room = share, room

    # -- the notebook -------------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        show_with_caption(self, self.caption)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the live view and, for pages without a kernel, picture and sentence."""
        self._fit(self._widest())
        if self._view is None:
            self._view = self._open()
        self._view.start = dict(self._positions)
        frame = self.frame()
        data, _ = self._view._repr_mimebundle_() or ({}, {})
        data.update({"image/png": _small(frame.png), "text/plain": frame.summary})
        about = {"alt": frame.alt, "width": self._view.width}
        return data, {"image/png": about, "medn_edu": {"moves": True}}

    def declared(self) -> dict[str, Any]:
        """Return what the browser's side has to know, apart from frames; JSON could hold it."""
        specs = [
            {
                "name": key,
                "kind": control.kind,
                "label": control.label or key.replace("_", " "),
                "texts": list(control.texts),
                "per_second": control.per_second,
            }
            for key, control in self._controls.items()
        ]
        room = self._widest()
        start = dict(self._positions)
        return {
            "controls": specs,
            "width": room["width"],
            "room": room,
            "name": self.name,
            "start": start,  # where Reset leads
        }

    def _open(self) -> _View:
        view = _View(frame=self._state({}), **self.declared())
        view.on_msg(self._answer)
        return view

    def _state(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the browser needs to show a frame, and which of its moves it answers."""
        frame = self.frame()
        return {
            "png": frame.png,
            "summary": frame.summary,
            "alt": frame.alt,
            "positions": dict(self._positions),
            "view": request.get("view", ""),
            "serial": request.get("serial", 0),
        }

    def _answer(self, view: Any, request: dict[str, Any], _buffers: Any) -> None:
        """Answer one message of the browser; what goes wrong is shown there, not lost in a log."""
        try:
            positions = self._checked(request["positions"])
            self._fit(request["room"])
            if request["kind"] == "prepare":  # what the reader may ask for next
                with contextlib.suppress(Exception):  # it is told when it is asked for
                    self.frame(positions)
                return
            self._positions = positions
            if request["kind"] == "draw":
                view.frame = self._state(request)
            elif request["kind"] == "stack":
                self._send_stack(view, request)
            elif request["kind"] == "save":
                self._send_animation(view, request)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            about = {"view": request.get("view", ""), "serial": request.get("serial", 0)}
            view.send({"kind": "failed", **about, "text": text})

    def _checked(self, positions: Mapping[str, Any]) -> dict[str, int]:
        """Return the positions the browser sent, each within its control."""
        checked = {}
        for key, control in self._controls.items():
            i = int(positions[key])
            if not 0 <= i < len(control.values):
                raise ValueError(f"control {key!r} has no position {i}.")
            checked[key] = i
        return checked

    def _send_stack(self, view: Any, request: Mapping[str, Any]) -> None:
        """Send one picture that the browser lacks: a move waits for no more than that."""
        assert self._time is not None
        have = set(request["have"])
        i = next(i for i in range(len(self._controls[self._time].values)) if i not in have)
        frame = self.frame({**self._positions, self._time: i})
        answer = {"kind": "stack", "view": request["view"], "serial": request["serial"]}
        view.send(
            {**answer, "position": i, "summary": frame.summary, "alt": frame.alt}, [frame.png]
        )

    def _send_animation(self, view: Any, request: Mapping[str, Any]) -> None:
        rate = self._controls[self._animated].per_second
        animation = gif([frame.png for frame in self.stack()], rate)
        answer = {"kind": "saved", "view": request["view"], "file": f"{self.name}.gif"}
        view.send(answer, [animation])


def _small(png: bytes) -> bytes:
    """Return the same picture in fewer bytes, for the saved notebook."""
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").save(buffer, "png", optimize=True)
    return buffer.getvalue()
