"""What `cajole demo` shows, in the order of its page; a new card needs a function that makes it, and a line here."""

from __future__ import annotations

from cajole.cli.gallery import guided, solids
from cajole.cli.gallery.card import Maker

# the name that `cajole demo --scene` takes -> what makes the card
ITEMS: dict[str, Maker] = {
    "flower-eight": solids.flower_eight,
    "strike": solids.strike,
    "twist": solids.twist,
    "box": guided.box,
    "cloth": guided.cloth,
    "swirl": guided.swirl,
    "fish": solids.fish,
    "bridge": solids.bridge,
}
