"""What the gallery shows: each scene of each verb, what happens in it, and the commands beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """One entry: verb; title; text; tried: a command that opens or makes the same, "" where there is none."""

    verb: str
    title: str
    text: str
    tried: str = ""


ITEMS = {
    "flower-eight": Shown(
        "keyframe", "Flower", "Eight poses become one motion: its bloom draws an eight.", "cajole studio flower"
    ),
    "fish-swim": Shown("keyframe", "Fish", "A wave in five keys; nothing holds it.", "python examples/07_swim.py"),
    "dinosaur-step": Shown(
        "keyframe", "A step", "Two keys: the leg is lifted, and set down ahead.", "python examples/08_take_a_step.py"
    ),
    "walk": Shown("keyframe", "A walk", "Five steps, one after the other, eleven keys.", "python examples/10_walk.py"),
    "elephant": Shown(
        "keyframe", "Elephant", "Keys fitted to skins that bones have bent.", "python examples/11_lift_a_trunk.py"
    ),
    "bird": Shown("edit", "Gull", "A keyed wing is bent by 45 degrees, the tail twisted.", "cajole studio bird"),
    "bridge": Shown("edit", "Storm", "Eight drags, and the bridge clears sea and gulls.", "cajole studio bridge"),
    "bridge-pulled": Shown("edit", "Mast", "At rest, until one mast is pulled across.", "cajole studio bridge-pulled"),
    "curtain": Shown("edit", "Curtain", "Three vertices make it swing higher and flap.", "cajole studio curtain"),
    "stairs": Shown("edit", "Stairs", "The trunk is lifted in the tumble; contacts hold.", "cajole studio stairs"),
    "twist": Shown("edit", "Twist", "Four corners are dragged two turns around.", "cajole studio twist"),
    "box": Shown(
        "enrich", "Box", "Eight vertices turn a lid; the walls crease.",
        "cajole enrich box --material cloth --frames 30 --output box.webp",
    ),
    "bag": Shown(
        "enrich", "Backflip", "A bag of 88 vertices, in silk.",
        "cajole enrich bag --material silk --frames 60 --output bag.webp",
    ),
    "walker": Shown(
        "enrich", "Walker", "280 patches, found from the motion, lead a suit of felt.",
        "cajole enrich walker --dt 1/60 --frames 64 --output walker.webp",
    ),
    "flag": Shown(
        "enrich", "Flag", "A preview is caught; its cloth left alone, and told in four quarters.",
        "cajole enrich flag --collisions fast --frames 28 --output flag.webp",
    ),
    "strike": Shown(
        "steer", "Two balls", "Undisturbed; pushed; pushed and steered: it strikes again.",
        "python examples/12_hit_two_balls.py",
    ),
    "bee": Shown("steer", "Bee", "A flower in the wind is under its bee in time.", "python examples/13_land_a_bee.py"),
    "rooted": Shown(
        "steer", "Dinosaur", "Pushed: its head ends where it should.", "python examples/14_end_in_place.py"
    ),
    "swirl": Shown("steer", "Swirl", "Kicked smoke: left alone, and steered along its paths.",
        "cajole steer swirl --output swirl.webp",
    ),
    "leaves": Shown("steer", "Leaf", "In a wind of noise: left alone, and writing its S.",
        "cajole steer leaves --output leaves.webp",
    ),
    "cloth": Shown("reroute", "Cloth", "A free corner is led to another place.",
        "cajole reroute cloth --output cloth.webp",
    ),
    "skirt": Shown("reroute", "Skirt", "On a walk, and its hem curls.", "cajole reroute skirt --output skirt.webp"),
    "heart": Shown("reroute", "Heart", "It beats as images of its section show.",
        "cajole reroute heart --output heart.webp",
    ),
    "heart_dragged": Shown(
        "reroute", "Heart, by hand", "Nodes are dragged, and the beat goes on.",
        "cajole reroute heart_dragged --output dragged.webp",
    ),
}  # fmt: skip

VERBS = {
    "keyframe": "A few poses become a physical motion. Ghosts are the keys.",
    "edit": "A finished motion, with dragged vertices where they belong. Yellow came in, red came out.",
    "enrich": "A coarse motion becomes a shell with folds. Yellow is the guide, beside it what it becomes.",
    "steer": "A disturbed body comes back to its motion. Ghosts are left alone; of flows, what is yellow.",
    "reroute": "A mass-spring run, led elsewhere. Yellow is the pilot, red the second run.",
}


def page() -> str:
    """The gallery as a page of the docs."""
    parts = [
        "# Gallery",
        "Each scene of each verb, drawn by `docs/gallery/make.py`: with a name it makes that still and that loop "
        "again, in seconds to minutes. Above that command stands one to try.",
    ]
    for verb, told in VERBS.items():
        figures = "\n".join(_figure(name, item) for name, item in ITEMS.items() if item.verb == verb)
        parts += [
            f"## {verb.capitalize()}",
            f"{told} See [{verb}]({verb}.md).",
            f'<div class="gallery">\n{figures}\n</div>',
        ]
    return "\n\n".join(parts) + "\n"


def _figure(name: str, item: Shown) -> str:
    # words of their own, which the site's style keeps whole: browsers break lines between two hyphens
    words = " ".join(f"<span>{word}</span>" for word in item.tried.split())
    tried = f"<br><code>{words}</code>" if words else ""
    return (
        f'<figure id="{name}"><a href="gallery/{name}.jpg"><picture>'
        f'<source media="(prefers-reduced-motion: reduce)" srcset="gallery/{name}.jpg">'
        f'<img src="gallery/{name}.webp" alt="{item.title}: {item.text}" width="360" height="240" loading="lazy">'
        f"</picture></a><figcaption><b>{item.title}</b><br>{item.text}{tried}<br>"
        f"<code>python docs/gallery/make.py {name}</code></figcaption></figure>"
    )
