"""`WhatToSee`: the lessons of an explorer as buttons that make their moves."""

import html
from collections.abc import Sequence
from functools import partial
from typing import Any

import ipywidgets

from medn_edu.explorers.kit.explorer import Explorer, Lesson

_STYLE = """<style>
.medn-lessons .medn-lesson {
  width: auto; height: auto; margin: 8px 0 0; padding: 6px 10px; border-radius: 4px;
  white-space: normal; text-align: left; line-height: 1.4; font-size: 14px; font-weight: 600;
  color: var(--jp-content-font-color1, #222); background: var(--jp-layout-color1, #fff);
  border: 1px solid var(--jp-border-color1, #999);
}
.medn-lessons .medn-lesson:hover { background: var(--jp-layout-color2, #eee); }
.medn-lessons .medn-lesson:focus-visible { outline: 3px solid #e69f00; outline-offset: -3px; }
.medn-lessons .widget-html-content { white-space: normal; line-height: 1.4; font-size: 14px; }
</style>"""


class WhatToSee:
    """The lessons of an explorer: a button makes a move, and then says what there is to see.

    Facts stay hidden until their button is pressed, so that a reader looks first.  Lessons with the
    same move share a button.

    Parameters
    ----------
    explorer : Explorer
        The explorer, which is shown elsewhere on the page.
    """

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    def __repr__(self) -> str:
        return "\n".join(f"{self.move(each)}: {each.fact}" for each in self.explorer.lessons)

    def move(self, lesson: Lesson) -> str:
        """Return the moves of a lesson away from the start, in words."""
        controls = self.explorer.controls
        places = {key: controls[key].position(value) for key, value in lesson.move.items()}
        moves = [
            f"{controls[key].label or key.replace('_', ' ')}: {controls[key].texts[place]}"
            for key, place in places.items()
            if place != controls[key].start
        ]
        return "; ".join(moves) or "at the start"

    def show(self, lesson: Lesson) -> None:
        """Make the move of a lesson, with all other controls at their start."""
        controls = self.explorer.controls.items()
        start = {key: control.values[control.start] for key, control in controls}
        self.explorer.set(**start | dict(lesson.move))

    def widget(self) -> ipywidgets.Box:
        """Return the buttons, and room for the facts below each."""
        moves: dict[str, list[Lesson]] = {}
        for lesson in self.explorer.lessons:
            moves.setdefault(self.move(lesson), []).append(lesson)
        parts: list[Any] = [ipywidgets.HTML(f"{_STYLE}<b>What to see.</b> Press one, then look:")]
        for move, lessons in moves.items():
            button, room = ipywidgets.Button(description=move), ipywidgets.HTML()
            button.add_class("medn-lesson")
            button.on_click(partial(self._press, lessons, room))
            parts += [button, room]
        box = ipywidgets.VBox(parts)
        box.add_class("medn-lessons")
        return box

    def _press(self, lessons: Sequence[Lesson], room: ipywidgets.HTML, _: Any) -> None:
        room.value = "<br>".join(html.escape(each.fact) for each in lessons)
        self.show(lessons[0])

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return {**self.widget()._repr_mimebundle_(), "text/plain": repr(self)}
