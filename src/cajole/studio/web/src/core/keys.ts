/** Keys: how they are written in the table, read from events, and shown. */

const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform ?? "");

const SHOWN: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Enter: "⏎",
  Escape: "Esc",
  Delete: "Del",
  " ": "Space",
  Num1: "Num 1",
  Num3: "Num 3",
  Num7: "Num 7",
};

/** "Ctrl+Shift+z" -> "Ctrl ⇧ Z", and "⌘ ⇧ Z" on a Mac. */
export function shown(key: string): string {
  return parts(key)
    .map((part) => {
      if (part === "Ctrl") return MAC ? "⌘" : "Ctrl";
      if (part === "Shift") return "⇧";
      if (part === "Alt") return MAC ? "⌥" : "Alt";
      return SHOWN[part] ?? (part.length === 1 ? part.toUpperCase() : part);
    })
    .join(" ");
}

/** "Ctrl++" is Ctrl and the plus key. */
function parts(key: string): string[] {
  const found = key.match(/^((?:Ctrl\+|Shift\+|Alt\+)*)(.+)$/);
  return found ? [...found[1]!.split("+").filter(Boolean), found[2]!] : [key];
}

export interface Press {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** What was pressed, as the table writes it. Signs such as ? and [ carry their own shift; letters and names say it. */
export function pressed(event: Press): string {
  const numpad = /^Numpad(\d)$/.exec(event.code);
  const name = numpad ? `Num${numpad[1]}` : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const sign = name.length === 1 && !/[a-z0-9 ]/.test(name);
  const control = MAC ? event.metaKey : event.ctrlKey;
  const shift = event.shiftKey && !(sign && !control);
  return `${control ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${event.altKey ? "Alt+" : ""}${name}`;
}

/** For aria-keyshortcuts. */
export function spoken(key: string): string {
  return parts(key)
    .map((part) => (part === "Ctrl" ? (MAC ? "Meta" : "Control") : part === " " ? "Space" : part))
    .join("+");
}
