import test, { registerCompletionHandler } from 'ava';
import { allowed } from './slowness.js';

/**
 * In each of AVA's workers (ava.config.js): ends it, as failed and with a line that names its file,
 * if it still runs this long after its tests. AVA waits for it, longer than a lane of CI may take.
 * What a test has left running keeps it alive, such as a hook, which no other file should meet.
 *
 * @param millis on a machine that is not slow
 */
export default function endWorkerAfter(millis: number): void {
  registerCompletionHandler(() => {
    const end = (): never => {
      const file = new URL(test.meta.file).pathname;
      const left = process.getActiveResourcesInfo().join(', ');
      console.error(`*** ${file} did not end after its tests; left: ${left} ***`);
      process.exit(1);
    };
    setTimeout(end, allowed(millis)).unref();
  });
}
