"""The pages of ``medn-edu app``: an index, and for each explorer a small notebook.

Voila shows the notebooks without their code, with a template of ours.  Its own template loads fonts
from a server elsewhere, and its index is only a list of file names.
"""

import html
import json
from itertools import groupby
from typing import Any

from medn_edu.course.gallery import EXHIBITS
from medn_edu.course.shipped import chapter_title
from medn_edu.course.syllabus import chapter
from medn_edu.explorers.kit.explorer import Exhibit

TEMPLATE = "medn-edu"
"""Name of the template."""

_STYLE = """
  body, .jp-RenderedMarkdown { font-family: system-ui, sans-serif; line-height: 1.5; }
  a { color: #00639c; }
  :is(a, button):focus-visible { outline: 3px solid #e69f00; outline-offset: 2px; }
"""

# What Voila's page for errors is put into.
_PAGE = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:;base64,=">
<title>{{% block title %}}Moving figures{{% endblock %}}</title>
<style>{_STYLE}
  main {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
  h2 {{ font-size: 1.1rem; margin: 1.5rem 0 0.3rem; }}
  h2 span {{ display: inline-block; min-width: 2rem; color: #555; }}
  ul {{ margin: 0; padding-left: 2rem; list-style: none; }}
  li {{ padding: 0.15rem 0; }}
</style>
{{% block stylesheets %}}{{% endblock %}}
</head>
<body>{{% block body %}}{{% endblock %}}{{% block scripts %}}{{% endblock %}}</body>
</html>
"""

# Voila's own, without its fonts from elsewhere; on a wide screen the lessons stand next to the figure.
# Links keep the token of the page's address.
_FIGURE = f"""{{%- extends "voila/templates/lab/index.html.j2" -%}}
{{%- block notebook_css -%}}
{{%- for line in super().splitlines() if not ("<link" in line and "://" in line) %}}
{{{{ line }}}}
{{%- endfor %}}
<style>{_STYLE}
  #rendered_cells > div {{ max-width: 1240px; margin: 0 auto; padding: 0 16px 32px; }}
  .jp-Cell .jp-OutputPrompt, .jp-Cell .jp-InputPrompt {{ display: none; }}
  .anchor-link {{ display: none !important; }}
  @media (min-width: 1100px) {{
    #rendered_cells > div {{ display: grid; grid-template-columns: minmax(0, 1fr) 20rem; gap: 0 24px; }}
    [cell-index="1"] {{ grid-column: 1 / -1; }}
  }}
</style>
{{%- endblock -%}}
{{%- block body_footer -%}}
{{{{ super() }}}}
<script>
  for (const link of document.links) if (link.host === location.host) link.search = location.search;
</script>
{{%- endblock -%}}
"""


def app_pages() -> dict[str, str]:
    """Return the notebook of each explorer: JSON by file name."""
    import nbformat

    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    pages = {}
    for name, exhibit in EXHIBITS.items():
        of = chapter(exhibit.chapter)
        cells: list[Any] = [
            nbformat.v4.new_markdown_cell(
                f"{_ways(name)}\n\n# {exhibit.title}\n\nExplained in chapter {of.number} of the "
                f"course, *{chapter_title(of)}* (`medn-edu lab` opens it)."
            ),
            nbformat.v4.new_code_cell(
                "from medn_edu.course.gallery import EXHIBITS\n"
                "from medn_edu.explorers.kit.what_to_see import WhatToSee\n"
                f"explorer = EXHIBITS[{name!r}].explorer()\nexplorer"
            ),
            nbformat.v4.new_code_cell("WhatToSee(explorer)"),
        ]
        notebook = nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "title": exhibit.title}
        )
        pages[_file(exhibit)] = nbformat.writes(notebook)
    return pages


def app_template() -> dict[str, str]:
    """Return the files of the template that Voila uses for the pages, by name."""
    return {
        "conf.json": json.dumps({"base_template": "lab"}),
        "page.html": _PAGE,
        "tree.html": f'{{% extends "page.html" %}}{{% block body %}}{_index()}{{% endblock %}}',
        "index.html.j2": _FIGURE,
    }


def _index() -> str:
    """Return the titles of all figures, each a link, below the names of their chapters."""
    parts = ["<h1>The moving figures of the course</h1>"]
    for slug, exhibits in groupby(EXHIBITS.values(), lambda each: each.chapter):
        of = chapter(slug)
        parts.append(f"<h2><span>{of.number}</span>{html.escape(chapter_title(of))}</h2><ul>")
        for each in exhibits:
            address = f"{{{{ base_url }}}}voila/render/{_file(each)}?{{{{ query | e }}}}"
            parts.append(f'<li><a href="{address}">{html.escape(each.title)}</a></li>')
        parts.append("</ul>")
    return "<main>{}</main>".format("\n".join(parts))


def _ways(name: str) -> str:
    """Return the links to the figures before and after one, and to the index."""
    names = list(EXHIBITS)
    place = names.index(name)
    links = ["[All figures](../../)"]
    if place > 0:
        before = EXHIBITS[names[place - 1]]
        links.append(f"[← {before.title}]({_file(before)})")
    if place + 1 < len(names):
        after = EXHIBITS[names[place + 1]]
        links.append(f"[{after.title} →]({_file(after)})")
    return " · ".join(links)


def _file(exhibit: Exhibit) -> str:
    return f"{exhibit.name.replace('_', '-')}.ipynb"
