/**
 * Preloaded into every process that `npm test` starts, by NODE_OPTIONS: writes down each fault that
 * nothing caught, of children of tests too, and changes nothing else.
 */
const { appendFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const file = process.env.GLEANER_TEST_FAULTS;

function note(kind, error) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  try {
    appendFileSync(
      file,
      `${JSON.stringify({ kind, command: process.argv.slice(1, 6).join(' '), text })}\n`,
    );
  } catch {
    // Not this process's to write: another user's.
  }
}

// A thread's exception is an event of its owner, which handles it or has one of its own.
if (file && isMainThread) {
  process.on('uncaughtExceptionMonitor', (error, origin) => note(origin, error));
  const own = (reason) => note('unhandledRejection', reason);
  // Node turns a rejection into an exception only without listeners, so listen only if others do.
  process.on('newListener', (event, listener) => {
    if (
      event === 'unhandledRejection' &&
      listener !== own &&
      !process.listeners(event).includes(own)
    )
      process.prependListener(event, own);
  });
}
