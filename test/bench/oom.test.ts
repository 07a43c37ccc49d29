import test from 'ava';
import { oomSimulated } from '../../bench/oom/simulated.js';

test('no simulated activation is killed that survives at its user limit', (t) => {
  const lines: string[] = [];
  const rows = oomSimulated({ activations: 5000, seed: 1, log: (line) => lines.push(line) });
  for (const line of lines) t.log(line);
  const guarantee = rows.find(({ name }) => name === 'oom.simulated.guarantee')!;
  t.is(guarantee.value, 0);
  // Hungry they are: under their users' limits some are killed.
  t.regex(lines[0]!, /^user limits: [1-9]\d* of 5000 killed/);
});
