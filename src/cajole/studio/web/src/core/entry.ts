/** Getting in: the token from the address becomes a cookie. */

const PLACE = "cajole.token";

export type Entry = "in" | "refused" | "unreachable";

/** The token of the address, which loses it so that it is not copied; after a reload the one this tab came with. */
function token(): string | null {
  const given = location.hash.slice(1);
  if (given) {
    remember(given);
    history.replaceState(null, "", location.pathname + location.search);
    return given;
  }
  try {
    return sessionStorage.getItem(PLACE);
  } catch {
    return null;
  }
}

function remember(value: string): void {
  try {
    sessionStorage.setItem(PLACE, value);
  } catch {
    // without a store the cookie alone has to do
  }
}

/** Shows the token at the door. Without one, the cookie of another tab may still let this one in. */
export async function enter(): Promise<Entry> {
  const key = token();
  if (key === null) return "in";
  try {
    const answer = await fetch("/enter", { method: "POST", body: key, credentials: "same-origin" });
    return answer.status === 403 ? "refused" : answer.ok ? "in" : "unreachable";
  } catch {
    return "unreachable";
  }
}

/** Whether the server answers at all: a socket that it turns away looks like one that it never saw. */
export async function reachable(): Promise<boolean> {
  try {
    return (await fetch("/", { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}
