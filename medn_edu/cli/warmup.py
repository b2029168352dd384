"""``medn-edu warmup``: compile everything once."""

import argparse
from typing import Any

from medn_edu.cli.console import Progress, add_command, say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(commands, "warmup", run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    del arguments
    done = warm_with_progress()
    if done.n_compiled:
        say(f"Compiled {done.n_compiled} kernel variants in {done.seconds:.0f} s.")
    else:
        say(f"All kernels were compiled already; loading them took {done.seconds:.1f} s.")
    say(f"They are stored in {done.folder}")
    return 0


def warm_with_progress() -> Any:
    """Compile all kernels behind a progress bar."""
    from medn_edu.bench.warmup import warm_up

    with Progress("Compiling kernels (first time only)", "steps") as progress:
        return warm_up(progress)
