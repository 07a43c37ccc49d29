import { parseArgs } from 'node:util';
import { fuzzTargets } from './all.js';
import { type FuzzResult, type FuzzTarget, fuzz } from './fuzz.js';
import { portTargets } from './ports.js';

/**
 * `npm run fuzz -- --inputs 1000000 [--target nats …] [--seed 1] [--first 0]`: exit code 1, with
 * the input, where an invariant breaks.
 */
const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '10000' },
    target: { type: 'string', multiple: true },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
  },
});
const [inputs, seed, first] = [Number(values.inputs), Number(values.seed), Number(values.first)];
const all: readonly FuzzTarget[] = [...fuzzTargets(), ...portTargets()];
const targets = all.filter(({ name }) => values.target?.includes(name) ?? true);
if (targets.length === 0)
  throw new RangeError(`no such target; there are ${all.map(({ name }) => name).join(', ')}`);
let failed = false;
for (const target of targets) {
  const report = (error: unknown): void => {
    failed = true;
    console.log(error instanceof Error ? error.message : String(error));
  };
  try {
    await target.open?.();
    console.log(line(await fuzz(target, { seed, inputs, first })));
  } catch (error) {
    report(error);
  }
  await target.close?.().catch(report);
}
process.exitCode = failed ? 1 : 0;

function line({
  name,
  inputs: fed,
  seconds,
  outcomes,
  early,
  late,
  grown,
  note,
}: FuzzResult): string {
  const kinds = [...outcomes]
    .sort((a, b) => b[1] - a[1])
    .map(([kind, count]) => `${kind} ${count}`);
  return (
    `${name}: ${fed} inputs in ${seconds.toFixed(0)} s, ` +
    `${grown.toFixed(1)} MiB grown (${early.toFixed(0)} to ${late.toFixed(0)}); ` +
    `${kinds.join(', ')}${note && `; ${note}`}`
  );
}
