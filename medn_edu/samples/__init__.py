"""Samples: what users hand in, checked once and packed into flat arrays.

Samples are packed by `pack`, labels of any hashable kind become codes (`encode_labels`), forbidden
transitions become a table (`forbidden_to_allowed`), and `label_samples` joins the three for training.
Every check that a sample must pass is in this folder, and nothing above it checks samples again.
`medn_edu.samples.structures` says what a packed sample is.
"""

from __future__ import annotations

from medn_edu.samples.labels import (
    check_sample_weight,
    class_array,
    encode_labels,
    forbidden_to_allowed,
    label_samples,
)
from medn_edu.samples.packing import pack
from medn_edu.samples.structures import Forest, LabelledSamples, Samples, WeightShape

__all__ = [
    "Forest",
    "LabelledSamples",
    "Samples",
    "WeightShape",
    "check_sample_weight",
    "class_array",
    "encode_labels",
    "forbidden_to_allowed",
    "label_samples",
    "pack",
]
