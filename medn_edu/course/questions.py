"""Predict, then look: questions that a learner answers before an explorer does.

A question shows its choices.  A guess is kept with the learner's progress, and the explorer below then
answers.  What happens is computed, not written down, and stays folded.  Without widgets a question is
answered by calling it: ``predict_jump("b")``.
"""

import html
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from medn_edu.course.progress import note_guess, noted_guess
from medn_edu.explorers.kit.question import QuestionView

LETTERS = "abcdef"


@dataclass(eq=False, repr=False)
class Question:
    """A question, its choices, and how the right one is found."""

    _: KW_ONLY
    asks: str
    choices: tuple[str, ...]
    right: Callable[[], int]  # computes the place of the right choice
    look: str  # what to do with the explorer then
    because: str
    name: str = ""  # that of the variable that holds it

    def __repr__(self) -> str:
        listed = (f"  {letter}) {text}" for letter, text in self._listed())
        return "\n".join([f"Predict, then look: {self.asks}", *listed])

    def _listed(self) -> list[tuple[str, str]]:
        return list(zip(LETTERS, self.choices, strict=False))

    def __call__(self, guess: str) -> None:
        """Note a guess, by its letter, and say where to look."""
        place = (
            LETTERS.find(guess.strip().lower()) if isinstance(guess, str) and guess.strip() else -1
        )
        if not 0 <= place < len(self.choices):
            letters = ", ".join(LETTERS[: len(self.choices)])
            print(f"{guess!r} is not a choice; expected one of {letters}, in quotes.")
            return
        print(self._note(place))

    @property
    def answer(self) -> str:
        """The right choice and why, computed anew."""
        return f"{self.choices[self.right()]}. {self.because}"

    def _note(self, place: int) -> str:
        kept = note_guess(self.name, self.choices[place])
        return f"Your guess: {self.choices[place]}. Now look: {self.look}{kept}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        before = noted_guess(self.name)
        guess = self.choices.index(before) if before in self.choices else -1
        view = QuestionView(self.asks, self.choices, guess, self.answer, self._note)
        data, _ = view._repr_mimebundle_() or ({}, {})
        listed = "\n".join(f"- {letter}) {text}" for letter, text in self._listed())
        folded = f"<details><summary>What happens</summary>\n{html.escape(self.answer)}\n</details>"
        page = f"**Predict, then look:** {self.asks}\n\n{listed}\n\n{folded}"
        return {**data, "text/markdown": page, "text/plain": repr(self)}


QUESTIONS: dict[str, Question] = {}
for name, each in list(globals().items()):
    if isinstance(each, Question):
        each.name = name
        QUESTIONS[name] = each
