"""The command line: one file a command. Nothing heavy is imported until a command runs."""

from __future__ import annotations


def main() -> None:
    """Run `cajole`. Exit codes: 0 fine, 1 an error that the message explains, 2 wrong usage, 130 cancelled."""
    try:
        from cajole.cli.app import app

        app(prog_name="cajole")
    except KeyboardInterrupt:  # before the commands, which have their own answer to it, were there
        raise SystemExit(130) from None
