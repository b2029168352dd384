"""Experiments: declared studies, a runner that resumes, the demo and the benchmark.

A study is a list of `FitSpec`, one per fit, each with a key.  `run_study` makes those that are not
done yet and keeps their results in a table; figures are drawn from the table alone.
"""

from __future__ import annotations
