"""Entries of the gallery: one per scene of each verb, with a caption and a command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GalleryItem:
    """One entry: verb, title, caption text, and a command that opens or computes the same scene ("" if none)."""

    verb: str
    title: str
    text: str
    command: str = ""


ITEMS = {
    "flower-eight": GalleryItem(
        "keyframe", "Flower", "A motion through eight poses; the bloom draws a figure eight.", "cajole studio flower"
    ),
    "fish-swim": GalleryItem(
        "keyframe", "Fish", "A swimming wave from five keys; no vertex is fixed.", "python examples/07_swim.py"
    ),
    "dinosaur-step": GalleryItem(
        "keyframe", "A step", "Two keys: the leg lifts, then lands ahead.", "python examples/08_take_a_step.py"
    ),
    "walk": GalleryItem("keyframe", "A walk", "Five steps in sequence, eleven keys.", "python examples/10_walk.py"),
    "elephant": GalleryItem(
        "keyframe", "Elephant", "Keys fitted to poses of a skinned mesh.", "python examples/11_lift_a_trunk.py"
    ),
    "bird": GalleryItem(
        "edit", "Gull", "An edit bends a wing by 45 degrees and twists the tail.", "cajole studio bird"
    ),
    "bridge": GalleryItem(
        "edit", "Storm", "After eight drags the bridge clears the sea and the gulls.", "cajole studio bridge"
    ),
    "bridge-pulled": GalleryItem(
        "edit", "Mast", "A bridge at rest; one mast is pulled sideways.", "cajole studio bridge-pulled"
    ),
    "curtain": GalleryItem(
        "edit", "Curtain", "Three dragged vertices make it swing higher and flap.", "cajole studio curtain"
    ),
    "stairs": GalleryItem(
        "edit", "Stairs", "The trunk is lifted during the fall; contacts are preserved.", "cajole studio stairs"
    ),
    "twist": GalleryItem("edit", "Twist", "Four corners are dragged through two full turns.", "cajole studio twist"),
    "box": GalleryItem(
        "enrich",
        "Box",
        "A guide of eight vertices turns the lid; the walls crease.",
        "cajole enrich box --material cloth --frames 30 --output box.webp",
    ),
    "bag": GalleryItem(
        "enrich",
        "Backflip",
        "A guide of 88 vertices becomes a bag of silk.",
        "cajole enrich bag --material silk --frames 60 --output bag.webp",
    ),
    "walker": GalleryItem(
        "enrich",
        "Walker",
        "A felt suit tracks 280 regions, clustered from the motion.",
        "cajole enrich walker --dt 1/60 --frames 64 --output walker.webp",
    ),
    "flag": GalleryItem(
        "enrich",
        "Flag",
        "A tree catches a cloth: coarse preview, untracked, tracked by four quarters.",
        "cajole enrich flag --collisions fast --frames 28 --output flag.webp",
    ),
    "strike": GalleryItem(
        "steer",
        "Two balls",
        "Undisturbed; pushed; pushed and steered, so that it strikes again.",
        "python examples/12_hit_two_balls.py",
    ),
    "bee": GalleryItem(
        "steer", "Bee", "A flower in the wind meets its bee in time.", "python examples/13_land_a_bee.py"
    ),
    "rooted": GalleryItem(
        "steer",
        "Dinosaur",
        "Pushed and steered, its head ends at the target position.",
        "python examples/14_end_in_place.py",
    ),
    "swirl": GalleryItem(
        "steer",
        "Swirl",
        "Disturbed smoke: uncontrolled, and steered along its paths.",
        "cajole steer swirl --output swirl.webp",
    ),
    "leaves": GalleryItem(
        "steer",
        "Leaf",
        "In random wind: uncontrolled, and steered along the letter S.",
        "cajole steer leaves --output leaves.webp",
    ),
    "cloth": GalleryItem(
        "reroute",
        "Cloth",
        "Added forces move a free corner to another position.",
        "cajole reroute cloth --output cloth.webp",
    ),
    "skirt": GalleryItem(
        "reroute", "Skirt", "The hem of a walking skirt curls.", "cajole reroute skirt --output skirt.webp"
    ),
    "heart": GalleryItem(
        "reroute",
        "Heart",
        "It beats as sectional images show.",
        "cajole reroute heart --output heart.webp",
    ),
    "heart_dragged": GalleryItem(
        "reroute",
        "Heart, by hand",
        "Dragged nodes move while the heart keeps beating.",
        "cajole reroute heart_dragged --output dragged.webp",
    ),
}

VERBS = {
    "keyframe": "A physical motion through a few poses. The ghosts are key poses.",
    "edit": "A finished motion with some vertices dragged to new positions. Yellow is the input, red the output.",
    "enrich": "A shell with folds that follows a coarse motion. Yellow is the guide; the result is beside it.",
    "steer": "A disturbed body returns to its motion. Ghosts show the uncontrolled body; in flows, yellow does.",
    "reroute": "A mass-spring simulation with nodes on new paths. Yellow is the pilot, red the second run.",
}


def page() -> str:
    """Return the gallery as a page of the docs."""
    parts = [
        "# Gallery",
        "This page shows each scene of each verb. The first command of an entry lets you try the scene. The second "
        "renders its still and its loop again, in seconds to minutes.",
    ]
    for verb, caption in VERBS.items():
        figures = "\n".join(_figure(name, item) for name, item in ITEMS.items() if item.verb == verb)
        parts += [
            f"## {verb.capitalize()}",
            f"{caption} See [{verb}]({verb}.md).",
            f'<div class="gallery">\n{figures}\n</div>',
        ]
    return "\n\n".join(parts) + "\n"


def _figure(name: str, item: GalleryItem) -> str:
    # one span per word: the style sheet keeps spans whole, because browsers break lines between two hyphens
    words = " ".join(f"<span>{word}</span>" for word in item.command.split())
    command = f"<br><code>{words}</code>" if words else ""
    return (
        f'<figure id="{name}"><a href="gallery/{name}.jpg"><picture>'
        f'<source media="(prefers-reduced-motion: reduce)" srcset="gallery/{name}.jpg">'
        f'<img src="gallery/{name}.webp" alt="{item.title}: {item.text}" width="360" height="240" loading="lazy">'
        f"</picture></a><figcaption><b>{item.title}</b><br>{item.text}{command}<br>"
        f"<code>python docs/gallery/make.py {name}</code></figcaption></figure>"
    )
