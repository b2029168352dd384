"""Links: above and below every notebook, the map of the course, and the index of the errata.

`medn_edu.course.build` puts them into cells with the tag ``navigation``, ``map`` or ``index``, so that
nobody writes them by hand and no link goes stale when a chapter moves or a slip gets another title.
"""

import re

from medn_edu.course.syllabus import CHAPTERS, binder_link, chapter
from medn_edu.theory.errata import SEVERITIES, SLIPS, Slip

START = "00-start-here.ipynb"
NOTATION = "notation.ipynb"


def navigation(file: str) -> str:
    """Return the line of links above and below a notebook."""
    files = [each.file for each in CHAPTERS]
    links = []
    if file in files and files.index(file) > 0:
        before = CHAPTERS[files.index(file) - 1]
        links.append(f"[← {before.slug}]({before.file})")
    for place, name in ((START, "Map"), (NOTATION, "Notation"), (NOTATION, "Glossary")):
        links.append(f"[{name.lower()}]({'' if file == place else place}#{name})")
    links.append(f"[run it on Binder]({binder_link(file)})")
    if file in files and files.index(file) + 1 < len(files):
        after = CHAPTERS[files.index(file) + 1]
        links.append(f"[{after.slug} →]({after.file})")
    return " · ".join(links)


def course_map(prefix: str = "", here: str = "") -> str:
    """Return the table of the course with links to all chapters except the one that shows it."""
    rows = ["| chapter | minutes | afterwards you can |", "| --- | --- | --- |"]
    for each in CHAPTERS:
        name = f"**{each.slug}**" if each.slug == here else f"[{each.slug}]({prefix}{each.file})"
        rows.append(f"| {name} | {each.minutes} | {each.afterwards} |")
    return "\n".join(rows)


def link_symbols(source: str, slug: str) -> str:
    """Return the head of a chapter with each of its new symbols linked to the chapter's notation."""
    before, mark, rest = source.partition("**New symbols**")
    line, end, after = rest.partition("\n")
    linked = re.sub(r"\[?(\$[^$]+\$)(\]\([^)]*\))?", rf"[\1]({NOTATION}#{slug})", line)
    return before + mark + linked + end + after


def slips_index() -> str:
    """Return the list of all slips: the ten for every student, then the others, chapter by chapter."""
    order = [each.slug for each in CHAPTERS]
    slips = sorted(SLIPS, key=lambda each: order.index(each.chapter))
    parts = ["**Ten slips that will trip you up**, in the order in which you meet them:\n"]
    tripping = [each for each in slips if each.trips]
    parts += [
        _entry(each, f" in [{each.chapter}]({chapter(each.chapter).file})") for each in tripping
    ]
    parts.append("\n**The others**, by the chapter that they belong to:\n")
    for slug in order:
        if others := [each for each in slips if each.chapter == slug and not each.trips]:
            parts.append(f"- [{slug}]({chapter(slug).file})")
            parts += [f"  {_entry(each)}" for each in others]
    parts.append("\n**What a slip spoils**:\n")
    for severity, meaning in SEVERITIES.items():
        count = sum(each.severity == severity for each in SLIPS)
        parts.append(f"- *{severity}*: {meaning} ({count} of {len(SLIPS)})")
    return "\n".join(parts)


def _entry(slip: Slip, where: str = "") -> str:
    """Return a slip as an item of a list, linked to its section."""
    place = slip.heading.replace(" ", "-")  # as JupyterLab and nbconvert name it
    doubt = ", *unconfirmed*" if slip.unconfirmed else ""
    return (
        f"- [{slip.heading}](#{place}){where} ({slip.paper}, {slip.where}; {slip.severity}{doubt})"
    )
