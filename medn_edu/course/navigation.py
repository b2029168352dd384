"""The line above and below every notebook, and the map of the course: made from the syllabus.

`medn_edu.course.build` puts them into cells with the tag ``navigation`` or ``map``, so that nobody
writes them by hand and no link goes stale when a chapter moves.
"""

from __future__ import annotations

from medn_edu.course.syllabus import CHAPTERS, binder_link

START = "00-start-here.ipynb"


def navigation(file: str) -> str:
    """Return the line of links above and below a notebook.

    Parameters
    ----------
    file : str
        Name of the notebook.

    Returns
    -------
    str
        Markdown: previous and next chapter, map, notation, glossary, and Binder.

    Examples
    --------
    >>> navigation("06-kl-norm.ipynb").split(" · ")[0]
    '[← shrinkage](05-shrinkage.ipynb)'
    """
    files = [each.file for each in CHAPTERS]
    links = []
    if file in files and files.index(file) > 0:
        before = CHAPTERS[files.index(file) - 1]
        links.append(f"[← {before.slug}]({before.file})")
    home = "" if file == START else START
    links += [f"[{name.lower()}]({home}#{name})" for name in ("Map", "Notation", "Glossary")]
    links.append(f"[run it on Binder]({binder_link(file)})")
    if file in files and files.index(file) + 1 < len(files):
        after = CHAPTERS[files.index(file) + 1]
        links.append(f"[{after.slug} →]({after.file})")
    return " · ".join(links)


def course_map(prefix: str = "", here: str = "") -> str:
    """Return the table of the course.

    Parameters
    ----------
    prefix : str
        Where the notebooks are, as seen from the page.
    here : str
        Slug of the chapter in which the table stands, which is not linked.

    Returns
    -------
    str
        A Markdown table.

    Examples
    --------
    >>> course_map(here="start-here").splitlines()[2]
    '| **start-here** | 20 | open, run and train on real handwriting; find map, notation and glossary |'
    """
    rows = ["| chapter | minutes | afterwards you can |", "| --- | --- | --- |"]
    for each in CHAPTERS:
        name = f"**{each.slug}**" if each.slug == here else f"[{each.slug}]({prefix}{each.file})"
        rows.append(f"| {name} | {each.minutes} | {each.afterwards} |")
    return "\n".join(rows)
