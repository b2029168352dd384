"""Samples: what users hand in, checked once and packed into flat arrays.

The way of a sample through this folder:

1. `pack` (``packing.py``) takes a list of matrices, forests and graphs, or samples packed before.
2. Each sample is checked on the way (``checks.py``): the list itself, each matrix (`as_matrix`), its
   width, the values of all features (`check_values`), then each forest's parents and edge types, and
   each graph's edges.
3. `Samples` (``structures.py``), or `GraphSamples` (``graphs.py``) if there is a cycle, holds the packed
   arrays and checks that they fit (`check_packed`).
4. For training, `encode_labels` turns labels into codes, `forbidden_to_allowed` makes a table of
   allowed transitions, `label_mask` one of the labels that nodes may have, `node_costs` says what wrong
   labels cost, and `label_samples` joins them with the samples (``labels.py``).  `labelled` does it
   for plain samples at once.

Each check raises a TypeError or ValueError of one sentence.  The rooms that import this one take
samples for granted; only `pack` looks again at `Samples` that a user hands in, at their arrays first,
then at values and width.  `medn_edu.samples.structures` says what a packed sample is.
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
