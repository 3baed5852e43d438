// Remembers what the page hears, from its first message on; put in before any script of the page.
(() => {
  // The page gives up on an answer after a minute, which a busy machine may need.
  const wait = window.setTimeout;
  window.setTimeout = (run, ms, ...values) => wait(run, ms >= 60_000 ? 10 * ms : ms, ...values);
  const seen = { now: null, pulses: [], iterates: [], jobs: [], moved: [], toasts: [], states: 0 };
  const watch = (app) => {
    app.onFrame.on((message) => {
      if (message.kind === 10) seen.now = { frame: message.frame, rev: message.rev, seq: message.seq };
    });
    app.onPulse.on((pulse) => {
      seen.pulses.push({ time: pulse.time, lap: pulse.lap, frame: pulse.frame, error: pulse.error, effort: pulse.effort, push: pulse.push });
      if (seen.pulses.length > 2000) seen.pulses.shift();
    });
    app.onIterate.on((step) => seen.iterates.push(step));
    app.onJob.on((job) => seen.jobs.push(job));
    app.onMoved.on((moved) => seen.moved.push({ gesture: moved.gesture, position: moved.position, miss: moved.miss }));
    app.onToast.on(({ tone, title, text }) => seen.toasts.push({ tone, title, text }));
    app.onState.on(() => seen.states++);
  };
  let hook;
  Object.defineProperty(window, "seen", { value: seen });
  Object.defineProperty(window, "cajole", {
    configurable: true,
    get: () => hook,
    set: (value) => {
      hook = value;
      watch(value.app);
    },
  });
})();
