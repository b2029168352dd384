"""Checks of the exercises of verdict."""

from medn_edu.course.exercises.declarations import Choice

check_interval_sentence = Choice(right="c")

check_first_choice = Choice(right="b")
