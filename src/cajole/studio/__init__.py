"""The studio: a web application that directs bodies interactively. A local server, and the page that it serves."""

from cajole.checks import OptionalPackage

for _name in ("starlette", "uvicorn", "websockets", "msgspec"):
    OptionalPackage((_name,), _name, "studio", "the studio").require()
