"""`cajole demo`."""

from cajole.cli.output import Json


def demo(as_json: Json = False) -> None:
    """x"""
