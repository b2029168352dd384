"""Answers to the exercises of start-here."""

from __future__ import annotations

from medn_edu.course import exercises

ANSWERS = {
    exercises.check_count_labellings: [100_000, 50, 5**10, 30240, 99_999, "10**5"],
    exercises.check_just_enough: [0.6, 1, 0.1, 0.05, 0.55, 1.4, 1.45, 0.65, 0, "0.6", 0.8],
}
