/** Sender for live controls: one request at a time, then the newest value, so that a slow solver never falls behind. */

type Send<T> = (value: T) => Promise<unknown>;

/** Wrap a send function: during a request only the newest value is kept, and sent next. */
export function createLatestSender<T>(send: Send<T>): Send<T> {
  let running: Promise<unknown> | null = null;
  let next: { value: T } | null = null;
  const drain = async (): Promise<void> => {
    try {
      while (next !== null) {
        const { value } = next;
        next = null;
        await send(value);
      }
    } finally {
      running = null;
    }
  };
  return (value) => {
    next = { value };
    // a failure also drops the pending value
    running ??= drain().catch((error: unknown) => {
      next = null;
      throw error;
    });
    return running;
  };
}
