"""The book: the course as a site that needs no kernel, and no server either.

=============  ==============================================================================
`cells`        the explorers of a notebook
`frames`       the pictures of an explorer's settings, as overlays
`packs`        those of all chapters, kept by content
`pages`        what Sphinx reads: notebooks and other pages of the repository
`reference`    pages of the public names
`docstrings`   what those pages do differently from Sphinx
`settings`     of Sphinx
`book`         all of it together
=============  ==============================================================================
"""
