"""The widget of a question that is answered before looking."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

HERE = Path(__file__).parent


class QuestionView(anywidget.AnyWidget):
    """Choices in the page.  ``note(i)`` is called with each guess, and returns the reply."""

    _esm = HERE / "question.js"
    _css = HERE / "question.css"
    asks = traitlets.Unicode().tag(sync=True)
    choices: traitlets.List[Any] = traitlets.List().tag(sync=True)
    guess = traitlets.Int(-1).tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        asks: str,
        choices: Sequence[str],
        guess: int,
        said: str,
        answer: str,
        note: Callable[[int], str],
    ) -> None:
        super().__init__(asks=asks, choices=list(choices), guess=guess, said=said, answer=answer)
        self.observe(lambda change: setattr(self, "said", note(change["new"])), "guess")
