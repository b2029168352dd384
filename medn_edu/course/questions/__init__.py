"""Predict, then look: questions that a learner answers before an explorer does.

A question shows its choices.  A guess is kept with the learner's progress, and then the explorer below
shows the answer.  The right answer is computed, not written down, and stays folded.  Without widgets
you answer a question by calling it: ``predict_jump("b")``.
"""

from medn_edu.course.questions import algorithms, basics, temperatures
from medn_edu.course.questions.question import Question

__all__ = ["QUESTIONS", "Question"]

QUESTIONS: dict[str, Question] = {}
for _module in (basics, algorithms, temperatures):  # in reading order
    for _name, _each in vars(_module).items():
        if isinstance(_each, Question):
            _each.name = _name
            QUESTIONS[_name] = _each
globals().update(QUESTIONS)
