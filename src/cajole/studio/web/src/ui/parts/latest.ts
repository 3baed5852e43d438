/** Live controls: at most one message under way, and the newest value next, so that a slow solver never lags behind. */

export type Send<T> = (value: T) => Promise<unknown>;

/** Wraps a way to send: what is given while one is under way waits, and only the newest of it is sent. */
export function latest<T>(send: Send<T>): Send<T> {
  let under: Promise<unknown> | null = null;
  let next: { value: T } | null = null;
  const drain = async (): Promise<void> => {
    try {
      while (next !== null) {
        const { value } = next;
        next = null;
        await send(value);
      }
    } finally {
      under = null;
    }
  };
  return (value) => {
    next = { value };
    // A failure drops what waits: it was asked on the same ground.
    under ??= drain().catch((error: unknown) => {
      next = null;
      throw error;
    });
    return under;
  };
}
