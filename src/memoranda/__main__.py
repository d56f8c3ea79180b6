"""Runs the command line: `python -m memoranda` and the `memoranda` script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from memoranda.interfaces.cli.app import run  # noqa: PLC0415 - hooks will be answered before typer is imported

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
