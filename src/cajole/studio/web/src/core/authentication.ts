/** Authentication: the token in the address is exchanged for a session cookie. */

const TOKEN_KEY = "cajole.token";

type AuthenticationResult = "authenticated" | "refused" | "unreachable";

/** Token from the address, which is then removed from it; after a reload, the token stored for this tab. */
function readToken(): string | null {
  const given = location.hash.slice(1);
  if (given) {
    storeToken(given);
    history.replaceState(null, "", location.pathname + location.search);
    return given;
  }
  try {
    return sessionStorage.getItem(TOKEN_KEY);
  } catch {
    return null;
  }
}

function storeToken(value: string): void {
  try {
    sessionStorage.setItem(TOKEN_KEY, value);
  } catch {
    // without session storage the cookie alone authenticates
  }
}

/** Send the token to the server. Without a token, the cookie of another tab may still be valid. */
export async function authenticate(): Promise<AuthenticationResult> {
  const key = readToken();
  if (key === null) return "authenticated";
  try {
    const answer = await fetch("/enter", { method: "POST", body: key, credentials: "same-origin" });
    return answer.status === 403 ? "refused" : answer.ok ? "authenticated" : "unreachable";
  } catch {
    return "unreachable";
  }
}

/** True if the server answers HTTP: a refused WebSocket cannot be told from an unreachable one otherwise. */
export async function isServerReachable(): Promise<boolean> {
  try {
    return (await fetch("/", { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}
