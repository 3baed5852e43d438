/** Key names: as written in the command table, read from events, and displayed. */

const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform ?? "");

const KEY_SYMBOLS: Record<string, string> = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "⏎", Escape: "Esc", Delete: "Del",
  " ": "Space", Num1: "Num 1", Num3: "Num 3", Num7: "Num 7",
};

/** "Ctrl+Shift+z" -> "Ctrl ⇧ Z", and "⌘ ⇧ Z" on a Mac. */
export function formatKey(key: string): string {
  return splitKey(key)
    .map((part) => {
      if (part === "Ctrl") return IS_MAC ? "⌘" : "Ctrl";
      if (part === "Shift") return "⇧";
      if (part === "Alt") return IS_MAC ? "⌥" : "Alt";
      return KEY_SYMBOLS[part] ?? (part.length === 1 ? part.toUpperCase() : part);
    })
    .join(" ");
}

/** "Ctrl++" is Ctrl and the plus key. */
function splitKey(key: string): string[] {
  const found = key.match(/^((?:Ctrl\+|Shift\+|Alt\+)*)(.+)$/);
  return found ? [...found[1]!.split("+").filter(Boolean), found[2]!] : [key];
}

interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** Key name of an event. Symbols such as ? and [ imply their Shift; letters and named keys state it. */
export function readKey(event: KeyPress): string {
  const numpad = /^Numpad(\d)$/.exec(event.code);
  const name = numpad ? `Num${numpad[1]}` : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const sign = name.length === 1 && !/[a-z0-9 ]/.test(name);
  const control = IS_MAC ? event.metaKey : event.ctrlKey;
  const shift = event.shiftKey && !(sign && !control);
  return `${control ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${event.altKey ? "Alt+" : ""}${name}`;
}
