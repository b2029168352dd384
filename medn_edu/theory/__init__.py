"""Theory to read and to check against: plain algorithms without compiled code."""

from __future__ import annotations

from medn_edu.theory.norms import kl_ball, kl_norm, norm_ball

__all__ = ["kl_ball", "kl_norm", "norm_ball"]
