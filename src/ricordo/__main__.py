"""`python -m ricordo`: the same as the command `ricordo`."""

from __future__ import annotations

from ricordo.cli.app import main

if __name__ == "__main__":
    main()
