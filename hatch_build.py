"""What a wheel brings along beyond the package: the tables of the studies, without their figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tables(BuildHookInterface):
    """Puts ``figures/*.csv`` where `medn_edu.studies.kit.stored` looks for them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the tables, unless the package is used right where it is."""
        if version != "editable":
            for file in sorted(Path(self.root, "figures").glob("*.csv")):
                build_data["force_include"][str(file)] = f"medn_edu/figures/{file.name}"
