"""Where the notebooks of this installation are."""

from pathlib import Path


def shipped_notebooks() -> dict[str, Path]:
    """Return the notebooks of the installed package, or of the checkout it runs from, by name."""
    here = Path(__file__).resolve().parent
    for folder in (here / "notebooks", here.parent.parent / "notebooks"):
        found = {path.name: path for path in sorted(folder.glob("*.ipynb"))}
        if found:
            return found
    raise FileNotFoundError("the notebooks are missing from this installation; reinstall medn_edu.")
