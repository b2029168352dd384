"""Samples: your data, checked once and packed into flat arrays.

A sample passes through this folder in four steps:

1. `pack` (``packing.py``) takes a list of matrices, forests and graphs, or samples that are packed
   already.
2. Everything is checked on the way (``checks.py``): the list itself, each matrix (`as_matrix`), its
   width, the values of all features (`check_values`), then each forest's parents and edge types, and
   each graph's edges.
3. The packed arrays are held by `Samples` (``structures.py``), or by `GraphSamples` (``graphs.py``) if
   there is a cycle.  Both check that the arrays fit together (`check_packed`).
4. For training, ``labels.py`` adds the labels.  `encode_labels` turns labels into codes.
   `forbidden_to_allowed` makes a table of allowed transitions, and `label_mask` a table of the labels
   that nodes may have.  `node_costs` says what wrong labels cost.  `label_samples` joins all of these
   with the samples, and `labelled` does the whole step at once for plain samples.

Each check raises a TypeError or ValueError of one sentence.  Packages that import this one rely on
samples being right.  Only `pack` checks `Samples` again when a user hands them in: first their arrays,
then values and width.  `medn_edu.samples.structures` says what a packed sample is.
"""

from medn_edu.samples.graphs import Graph, GraphSamples, grid
from medn_edu.samples.labels import (
    check_sample_weight,
    class_array,
    encode_labels,
    encode_seen_labels,
    forbidden_to_allowed,
    label_mask,
    label_samples,
    labelled,
    node_costs,
)
from medn_edu.samples.packing import pack
from medn_edu.samples.structures import (
    TABLES,
    Forest,
    LabelledSamples,
    Samples,
    SampleSet,
    WeightShape,
)

__all__ = [
    "TABLES",
    "Forest",
    "Graph",
    "GraphSamples",
    "LabelledSamples",
    "SampleSet",
    "Samples",
    "WeightShape",
    "check_sample_weight",
    "class_array",
    "encode_labels",
    "encode_seen_labels",
    "forbidden_to_allowed",
    "grid",
    "label_mask",
    "label_samples",
    "labelled",
    "node_costs",
    "pack",
]
