import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lines of the parts' logs, in the state folder of a `gleaner up`, about faults that nothing
 * caught. A rig that starts parts has none.
 */
export function uncaughtFaults(stateFolder: string): string[] {
  const logs = join(stateFolder, 'logs');
  let names: string[] = [];
  try {
    names = readdirSync(logs);
  } catch {
    // It was never started.
  }
  return names.flatMap((name) =>
    readFileSync(join(logs, name), 'utf8')
      .split('\n')
      .filter((line) =>
        /"event":"(unhandled_rejection|uncaught_exception)"|^gleaner: un\w+_(rej|exc)e\w+ion/.test(
          line,
        ),
      )
      .map((line) => `${name}: ${line}`),
  );
}
