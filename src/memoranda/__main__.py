"""Runs the command line: `python -m memoranda` and the `memoranda` script."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # Before numpy is loaded: one question is answered by one thread, a second one doubles the CPU and not the speed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from memoranda.interfaces.cli.app import run  # noqa: PLC0415 - hooks will be answered before typer is imported

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
