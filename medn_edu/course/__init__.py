"""The course: its notebooks, their exercises, and copies of it for learners.

`copy_course` puts the notebooks into a folder of the learner's, never over an edit;
`medn_edu.course.exercises` holds the checks that the notebooks call;
``python -m medn_edu.course.build`` runs and saves the notebooks of a checkout.
"""

from __future__ import annotations

from medn_edu.course.copying import CourseCopy, copy_course

__all__ = ["CourseCopy", "copy_course"]
