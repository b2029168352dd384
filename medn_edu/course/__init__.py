"""The course: its notebooks, their exercises, and copies of it for learners.

=================  =============================================================================
`syllabus`         the chapters in order: the list from which everything else is made
`navigation`       links above and below every notebook, and the map
`exercises`        the checks that the notebooks call
`progress`         which exercises a learner has solved
`editions`         for learning alone, for a class, for the teacher
`copying`          copies for learners, never over an edit
`gallery`          every explorer with its title and its chapter
`figure_pages`     a page for each explorer, for people who don't want a notebook
`animations`       films of the explorers, for the page of figures
`build`            runs and saves the notebooks of a checkout
`site`             the book: all of this as static pages
=================  =============================================================================
"""

from medn_edu.course.copying import CourseCopy, copy_course
from medn_edu.course.progress import progress

__all__ = ["CourseCopy", "copy_course", "progress"]
