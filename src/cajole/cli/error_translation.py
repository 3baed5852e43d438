"""Messages of the library in the words of the command line: options instead of names in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from cajole.errors import InputError, SolveError

# what the library says, and what that is here
MESSAGE_TRANSLATIONS = {
    "leave them out (regions.without, joined(..., dependent='drop'))": "ask for fewer (--clusters, labels)",
    "leave it out: regions.without": "choose a smaller --fixed",
    "more of them may do (newton=), and newton=1 takes what one gives": "a larger --newton may do, and --newton 1 "
    "takes what one gives",
    "collisions='fast' goes on": "--collisions fast goes on",
    "(a smaller distance=)": "(a smaller --distance)",
    "give a smaller distance=": "give a smaller --distance",
    "frames= asks for more": "--frames asks for more",
    "use a smaller dt, fewer or larger regions, a stiffer or more damped shell, or a slower guide": "use a smaller "
    "--dt, fewer --clusters or labels, a larger --young or --damping, or a slower guide",
    "over several pieces (regions_painted)": "over several pieces: --paint-guide",
    ", lower the ground, or give a start that is above it: start=": ", or lower the ground: --collider ground:HEIGHT",
    ", or give another one: start=": "",
    "ask for fewer levels": "ask for fewer with --subdivide",
    "guide_labels": "--paint-guide",
    "fine_labels": "--paint-fine",
    "-1 or None": "-1",
    "yield_curvature (1/m)": "--plastic, its curvature (1/m),",
}
# names with which a message begins, and the options that they came from
LEADING_ARGUMENT = re.compile(
    r"^(count|mu|young|poisson|thickness|density|damping|friction|distance|dt|method|within|limit|reach|frames|mass|"
    r"stiffness|clamp|every|align|level)\b(?!\[)"
)
OPTION_NAMES = {"count": "clusters"}


@contextmanager
def translate_errors() -> Iterator[None]:
    """Within it, what InputError and SolveError say is said in options."""
    try:
        yield
    except (InputError, SolveError) as reason:
        raise type(reason)(translate_message(str(reason))) from None


def translate_message(message: str) -> str:
    """A message of the library as the command line says it."""
    for ours, theirs in MESSAGE_TRANSLATIONS.items():
        message = message.replace(ours, theirs)
    return LEADING_ARGUMENT.sub(lambda found: f"--{OPTION_NAMES.get(found[1], found[1])}", message)
