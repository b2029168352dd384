"""Statements of the paper, tried on random instances."""

from __future__ import annotations

from medn_edu.theory.checks.check import Check

__all__ = ["MEDN_CHECKS"]

MEDN_CHECKS: tuple[Check, ...] = ()
"""The checks, in the paper's order."""
