"""Slips in the paper on approximated structured prediction, each settled on numbers."""

from __future__ import annotations

from medn_edu.theory.errata.slip import Slip

__all__ = ["ASP_SLIPS"]

ASP_SLIPS: tuple[Slip, ...] = ()
"""In the paper's order."""
