"""Checks of the notebooks' exercises: one module per notebook, and in it one declaration per exercise.

A check prints one line and never raises, whatever it is given.
"""

import importlib
import pkgutil

from medn_edu.course.exercises.declarations import Check

CHECKS: dict[str, Check] = {}
for module in pkgutil.iter_modules(__path__):
    for name, each in vars(importlib.import_module(f"{__name__}.{module.name}")).items():
        if isinstance(each, Check):
            each.name = name
            CHECKS[name] = each

__all__ = sorted(CHECKS)


def __getattr__(name: str) -> Check:
    if name in CHECKS:
        return CHECKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
