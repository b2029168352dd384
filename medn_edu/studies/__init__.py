"""The papers' experiments: one file per study, and what they share in `medn_edu.studies.kit`.

`medn_edu.studies.registry` lists them; `medn_edu.studies.claims` judges by their tables what the
papers say.
"""
