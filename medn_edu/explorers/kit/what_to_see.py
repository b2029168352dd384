"""`WhatToSee`: the lessons of an explorer as buttons that make their moves."""

import html
from collections.abc import Mapping, Sequence
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

    def move(self, lesson: Lesson, shown: Mapping[str, int] | None = None) -> str:
        """Return a phrase that says what to set and tick to get to a lesson.

        It starts from the positions that are ``shown``, by default from the start.
        """
        settings, others = [], []
        boxes: dict[str, list[str]] = {"tick": [], "untick": []}
        for key, control in self.explorer.controls.items():
            place = control.position(lesson.move[key]) if key in lesson.move else control.start
            if place == (control.start if shown is None else shown[key]):
                continue
            label, text = control.label or key.replace("_", " "), control.texts[place]
            symbol = label.partition(", ")[0]  # as in "w₁, weight of the ink"
            if control.kind == "check":
                boxes["tick" if control.values[place] else "untick"].append(f"“{label}”")
            elif label.endswith((" of", " as")):  # as in "subtract the errors of"
                others.append(f"{label} {text}")
            else:
                named = symbol if len(symbol) <= 2 else f"the {label}"
                settings.append(f"{named} to {f'“{text}”' if ' ' in text else text}")
        verbs = {"set": settings, **boxes}
        said = [f"{verb} {_and(of)}" for verb, of in verbs.items() if of]
        phrase = "; ".join([*said[: bool(settings)], *others, *said[bool(settings) :]])
        return phrase[:1].upper() + phrase[1:] or "Back to the start"

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


def _and(parts: Sequence[str]) -> str:
    """Join parts of a sentence."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
