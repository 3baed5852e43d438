"""The studio: a web application that directs bodies interactively. A local server, and the page that it serves."""

from cajole.checks import OptionalPackage


def require_packages() -> None:
    """Raise MissingExtra if a package of the extra `studio` is not installed. Call it before other modules of this
    package are imported."""
    for name in ("starlette", "uvicorn", "websockets", "msgspec"):
        OptionalPackage((name,), name, "studio", "the studio").require()
