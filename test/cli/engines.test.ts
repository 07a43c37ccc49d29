import test from 'ava';
import { enginesText } from '../../cli/commands/engines.js';
import { gleaner } from '../support/gleaner.js';

test('gleaner engines shows for every engine whether it runs, and how fast', async (t) => {
  const { code, out } = await gleaner(['engines', '--output', 'json']);
  t.is(code, 0);
  const engines = JSON.parse(out) as {
    name: string;
    runs: boolean;
    forwardMicros: number;
    ppoMillis: number;
  }[];
  t.deepEqual(
    engines.map(({ name, runs }) => [name, runs]),
    [
      ['simd', true],
      ['js', true],
      ['tensorflow', true],
    ],
  );
  for (const { forwardMicros, ppoMillis } of engines) t.true(forwardMicros > 0 && ppoMillis > 0);
});

test('an engine that does not run is shown with its reason', (t) => {
  const text = enginesText([
    { name: 'simd', runs: false, detail: 'no SIMD\u001b[2J', forwardMicros: null, ppoMillis: null },
    { name: 'js', runs: true, detail: 'typed arrays', forwardMicros: 8.123, ppoMillis: 5.5 },
  ]);
  t.regex(text, /^simd\s+no\s+-\s+-\s+no SIMD\?\[2J$/m);
  t.regex(text, /^js\s+yes\s+8\.12\s+5\.50\s+typed arrays$/m);
});
