import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded with `--import` into every Node process of a Gleaner that is watched for growth: what is
 * alive after a full collection, which is what grows where something leaks, as a line of
 * `<GLEANER_HEAP_PROBE>/<part>.heap` every few seconds.
 */
const folder = process.env.GLEANER_HEAP_PROBE;
const part = ['up', 'hook', 'agents', 'aggregator', 'dashboard'].find((name) =>
  process.argv.includes(name),
);

if (folder !== undefined && part !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setInterval(
    () => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      appendFileSync(join(folder, `${part}.heap`), `${heapUsed + external}\n`);
    },
    Number(process.env.GLEANER_HEAP_PROBE_MILLIS ?? 10_000),
  ).unref();
}
