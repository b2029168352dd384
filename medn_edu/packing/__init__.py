"""From what users hand in to packed arrays: every check, each with one sentence that names the thing.

Samples are checked once, here, and packed (`pack`); labels of any hashable kind become codes
(`encode_labels`); forbidden transitions become a table (`forbidden_to_allowed`).  Behind this door
nothing is checked again, so nothing that is wrong may pass it.
"""

from __future__ import annotations

from medn_edu.packing._labels import (
    check_sample_weight,
    class_array,
    encode_labels,
    forbidden_to_allowed,
    label_samples,
)
from medn_edu.packing._samples import pack

__all__ = [
    "check_sample_weight",
    "class_array",
    "encode_labels",
    "forbidden_to_allowed",
    "label_samples",
    "pack",
]
