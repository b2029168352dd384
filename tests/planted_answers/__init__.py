"""Answers to exercises, one module a chapter: the right one first, then typical mistakes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

ANSWERS: dict[Any, list[Any]] = {}
for module in pkgutil.iter_modules(__path__):
    ANSWERS |= importlib.import_module(f"{__name__}.{module.name}").ANSWERS
