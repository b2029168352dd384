"""Run the notebooks of a checkout afresh and save them as they are committed.

``python -m medn_edu.course.build [NOTEBOOK ...]`` (by default all of ``notebooks/``) starts a new
kernel for each, refuses a notebook with an error or a warning in it, and saves a normal form: the
picture and the sentence of every widget without its live state (a page without a kernel could not
serve that), numbered cells, no times, no machine.  Needs the ``lab`` extra; the OCR letters must be
there, for a committed ocr-study is that of the real letters.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from medn_edu.files import write_atomically

__all__ = ["MOST_BYTES", "build", "normalise"]

VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
MOST_BYTES = 1_000_000


def normalise(notebook: Any) -> Any:
    """Bring a notebook into the form in which it is committed.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        The notebook; changed in place.

    Returns
    -------
    nbformat.NotebookNode
        The same notebook: no widget state, no live views beside pictures, cells numbered in order,
        only tags as cells' metadata.
    """
    notebook.metadata = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": list(tags)} if tags else {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                _normalise_output(output, count)
    return notebook


def _normalise_output(output: Any, count: int) -> None:
    if output.get("execution_count") is not None:
        output["execution_count"] = count
    data = output.get("data", {})
    if "image/png" in data:
        data.pop(VIEW, None)


def build(path: Path) -> float:
    """Run one notebook in a new kernel and save it in normal form.

    Parameters
    ----------
    path : Path
        The notebook.

    Returns
    -------
    float
        Seconds it took.

    Raises
    ------
    RuntimeError
        If it prints a warning, or becomes too large to commit.
    """
    import nbformat
    from nbclient import NotebookClient

    os.environ["TQDM_DISABLE"] = "1"
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as elsewhere:
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            store_widget_state=False,
            coalesce_streams=True,
            resources={"metadata": {"path": elsewhere}},
        )
        client.execute()
    seconds = time.monotonic() - started
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{path.name} prints to stderr: {output['text'].strip()}")
    text = nbformat.writes(normalise(notebook), version=4) + "\n"
    if len(text.encode()) > MOST_BYTES:
        raise RuntimeError(f"{path.name} would have {len(text.encode())} bytes.")
    write_atomically(path, text)
    return seconds


def main(arguments: list[str]) -> None:
    """Build the notebooks named on the command line, or all of the checkout."""
    folder = Path(__file__).resolve().parents[2] / "notebooks"
    for path in [Path(name) for name in arguments] or sorted(folder.glob("*.ipynb")):
        seconds = build(path)
        print(f"{path.name}: {seconds:.1f} s, {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
