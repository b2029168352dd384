"""How Sphinx builds the book."""

import medn_edu
from medn_edu.course.syllabus import REPOSITORY

SETTINGS = {
    "project": "medn_edu",
    "author": "medn_edu developers",
    "copyright": "medn_edu developers; text and figures under CC BY 4.0, code under BSD 3-Clause",
    "version": medn_edu.__version__,
    "extensions": [
        "myst_nb",
        "sphinx.ext.autodoc",
        "sphinx.ext.autosummary",
        "sphinx.ext.mathjax",
        "numpydoc",
        "medn_edu.course.site.docstrings",
    ],
    "root_doc": "index",
    "exclude_patterns": ["originals"],
    "default_role": "py:obj",
    "nb_execution_mode": "off",
    "nb_merge_streams": True,
    "myst_enable_extensions": ["dollarmath", "attrs_inline"],
    "myst_heading_anchors": 4,
    "myst_heading_slug_func": "medn_edu.course.site.settings.heading_id",
    "myst_dmath_double_inline": True,
    "autosummary_generate": False,
    "autodoc_member_order": "bysource",
    "autodoc_typehints": "none",  # numpydoc's sections tell them
    "toc_object_entries_show_parents": "hide",  # the contents at the side are narrow
    "numpydoc_show_class_members": False,
    "numpydoc_class_members_toctree": False,
    "mathjax_path": "mathjax.js",
    "mathjax3_config": {"options": {"enableMenu": False}},  # the menu loads more files
    "html_theme": "sphinx_book_theme",
    "html_title": "medn_edu",
    "html_static_path": ["_static"],
    "html_favicon": "_static/icon.svg",  # else browsers ask for one that isn't there
    "html_extra_path": ["_extra"],
    "html_css_files": ["explorer.css", "site.css"],
    "html_js_files": [("explorers.js", {"defer": "defer"})],
    "html_copy_source": False,
    "html_show_sourcelink": False,
    "html_show_search_summary": False,  # it would fetch pages, which fails on file://
    "html_last_updated_fmt": None,
    "html_theme_options": {
        "repository_url": f"https://github.com/{REPOSITORY}",
        "use_repository_button": True,
        "use_download_button": False,
        "show_toc_level": 2,
        "navbar_persistent": [],
        "navigation_with_keys": False,  # arrow keys belong to the sliders
        "home_page_in_toc": True,
    },
}


def heading_id(title: str) -> str:
    """Return the name of a heading as JupyterLab makes it, so that links hold here and there."""
    return title.replace(" ", "-")
