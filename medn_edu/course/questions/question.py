"""`Question`: what a learner predicts before an explorer shows it."""

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

    def _said(self, place: int) -> str:
        return f"Your guess: {self.choices[place]}. Now look: {self.look}"

    def _note(self, place: int) -> str:
        return self._said(place) + note_guess(self.name, self.choices[place])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        before = noted_guess(self.name)
        guess = self.choices.index(before) if before in self.choices else -1
        said = self._said(guess) if guess >= 0 else ""
        view = QuestionView(self.asks, self.choices, guess, said, self.answer, self._note)
        data, _ = view._repr_mimebundle_() or ({}, {})
        listed = "\n".join(f"- {letter}) {text}" for letter, text in self._listed())
        folded = f"<details><summary>What happens</summary>\n{html.escape(self.answer)}\n</details>"
        note = "*A running notebook asks for your guess here.*"
        page = "\n\n".join([f"**Predict, then look:** {self.asks}", listed, note, folded])
        return {**data, "text/markdown": page, "text/plain": repr(self)}


def nearest(found: float, *values: float) -> int:
    """Return the position of the value that is nearest to the one found."""
    return min(range(len(values)), key=lambda place: abs(values[place] - found))
