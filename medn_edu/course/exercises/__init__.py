"""Checks of the notebooks' exercises: one module per notebook, and in it one declaration per exercise.

The question of an exercise, its praise and its hints are in the TOML file of the same name.

A check prints one line and never raises, whatever it is given.
"""

import importlib
import tomllib
from pathlib import Path

from medn_edu.course.exercises.declarations import Check

CHECKS: dict[str, Check] = {}
for file in sorted(Path(__file__).parent.glob("*.toml")):
    words = tomllib.loads(file.read_text(encoding="utf-8"))
    for name, each in vars(importlib.import_module(f"{__name__}.{file.stem}")).items():
        if isinstance(each, Check):
            each.give_words(name, words.pop(name, {}))
            CHECKS[name] = each
    if words:
        raise ValueError(f"{file.name}: there is no exercise {', '.join(words)}.")

__all__ = sorted(CHECKS)


def __getattr__(name: str) -> Check:
    if name in CHECKS:
        return CHECKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
