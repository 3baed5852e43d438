"""The command line: a module per command. A command imports numerical packages only when it runs."""

from __future__ import annotations


def main() -> None:
    """Run `cajole`. Exit codes: 0 success, 1 error explained by its message, 2 wrong usage, 130 cancelled."""
    try:
        from cajole.cli.app import app

        app(prog_name="cajole")
    except KeyboardInterrupt:  # before `CajoleGroup`, which handles it, is imported
        raise SystemExit(130) from None
