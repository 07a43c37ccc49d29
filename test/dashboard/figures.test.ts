import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { LatencyHistogram } from '../../broker/messages/index.js';
import { ContentionWindow } from '../../dashboard/server/contention-window.js';
import { HostGuard } from '../../dashboard/server/host-guard.js';
import { keptActivations, ObjectiveWindow } from '../../dashboard/server/objectives.js';
import { RateWindow } from '../../dashboard/server/rates.js';
import { rounded, Series } from '../../dashboard/server/series.js';
import { Token } from '../../dashboard/server/token.js';

test('a wait is attributed to other running functions in proportion to their CPU time', (t) => {
  const contention = new ContentionWindow(60_000);
  const step = (name: string, waited: number, ran: number, at = 1000): void =>
    contention.take({ at, function: name, waited, ran, throttled: 0, span: 1000 });
  step('a', 90, 50);
  step('b', 0, 200);
  step('c', 0, 100);
  const { names, matrix, waited } = contention.view('host', 2000, 10);
  t.deepEqual(names, ['a', 'b', 'c']);
  // 90 ms over 300 ms of the others: b 200/300, c 100/300.
  t.deepEqual(matrix[0], [0, 60, 30]);
  t.deepEqual(waited, [90, 0, 0]);
  // One that runs alone waits for its own other activations.
  const alone = new ContentionWindow(60_000);
  alone.take({ at: 1000, function: 'a', waited: 5, ran: 7, throttled: 0, span: 1000 });
  t.deepEqual(alone.view('host', 2000, 10).matrix, [[5]]);
  // What is older than the window is gone.
  t.deepEqual(contention.view('host', 62_000, 10).names, []);
});

test('the whole wait is attributed, even if few functions are shown', (t) => {
  const contention = new ContentionWindow(60_000);
  for (let i = 0; i < 5; i++)
    contention.take({
      at: 0,
      function: `f${i}`,
      waited: 10 * i,
      ran: 1 + i,
      throttled: 0,
      span: 1000,
    });
  const { matrix, waited } = contention.view('host', 1000, 5);
  for (const [i, row] of matrix.entries())
    t.true(Math.abs(row.reduce((sum, value) => sum + value, 0) - waited[i]!) < 1e-9);
});

test('a rate is per second of the host, and a reset counter is not a fall', (t) => {
  const window = new RateWindow(10_000);
  t.is(window.rate(0), null);
  window.take('a', 0, 100, 1);
  t.is(window.rate(0), null, 'one total has no rate');
  window.take('a', 5000, 110, 1);
  t.is(window.rate(5000), 2);
  // At tenfold time the same rise is a tenth.
  window.take('b', 0, 0, 10);
  window.take('b', 5000, 50, 10);
  t.is(window.rate(5000), 3);
  window.take('a', 6000, 1, 1);
  t.is(window.rate(6000), 1, 'only b');
  window.take('a', 8000, 7, 1);
  t.is(window.rate(8000), 4);
  window.forget('b');
  t.is(window.rate(8000), 3);
});

test('a rate covers its window, or the time between two totals if that is longer', (t) => {
  const window = new RateWindow(10_000);
  // 1 per second for 20 s, then 3 per second for 10 s: only the window counts.
  for (let second = 0; second <= 30; second++)
    window.take('a', second * 1000, second <= 20 ? second : 20 + 3 * (second - 20), 1);
  t.is(window.rate(30_000), 3);
  // From 50 to 150 within 50 s: each of 10,000 functions is listed every 50 s.
  window.take('a', 80_000, 150, 1);
  t.is(window.rate(80_000), 2);
  window.take('a', 130_000, 150, 1);
  t.is(window.rate(130_000), 0);
});

test('a host without a new total counts for three of its periods', (t) => {
  const window = new RateWindow(10_000);
  for (const host of ['a', 'b']) window.take(host, 0, 0, 1);
  window.take('a', 1000, 1, 1);
  window.take('b', 50_000, 50, 1);
  // A window of 10 s, three times, after the total at 1 s.
  t.is(window.rate(31_000), 2);
  t.is(window.rate(31_001), 1);
  // 50 s between two totals, three times, after the one at 50 s.
  t.is(window.rate(200_000), 1);
  t.is(window.rate(200_001), null);
});

test('the bucket that contains the objective counts in proportion to its part below', (t) => {
  const histogram = new LatencyHistogram();
  for (let i = 0; i < 8; i++) histogram.record(10);
  for (let i = 0; i < 2; i++) histogram.record(1000);
  t.is(keptActivations(histogram.toMessage(), 100), 8);
  t.is(keptActivations(histogram.toMessage(), 5000), 10);
  const window = new ObjectiveWindow(60_000);
  t.is(window.view(0).share, null);
  window.take(0, histogram.toMessage(), 100);
  t.deepEqual(window.view(1000), { share: 0.8, activations: 10 });
  t.is(window.view(61_000).share, null);
});

test('a series keeps the newest rows, null for unknown values, and the full time', (t) => {
  const series = new Series(['at', 'value'] as const, 3);
  t.is(series.last(), null);
  for (let i = 0; i < 5; i++)
    series.push({ at: 1_795_852_700 + i, ...(i === 3 ? {} : { value: i }) });
  t.deepEqual(series.columns(), {
    at: [1_795_852_702, 1_795_852_703, 1_795_852_704],
    value: [2, null, 4],
  });
  t.deepEqual(series.last(), [1_795_852_704, 4]);
  t.deepEqual(
    [123_456, 1.234_56, 0.000_123_456, 0, -12.344].map(rounded),
    [123_456, 1.235, 0.000_123_5, 0, -12.34],
  );
});

test('only the own host names are answered, against DNS rebinding', (t) => {
  const guard = new HostGuard('127.0.0.1', 9780, ['gleaner.example', 'tunnel:8443']);
  for (const host of [
    '127.0.0.1:9780',
    'localhost:9780',
    'LOCALHOST:9780',
    '[::1]:9780',
    'gleaner.example',
    'tunnel:8443',
  ])
    t.true(guard.allows(host), host);
  for (const host of [
    undefined,
    '',
    'evil.example',
    'evil.example:9780',
    'localhost',
    '127.0.0.1:80',
    'localhost:9780.evil',
  ])
    t.false(guard.allows(host), String(host));
  t.true(guard.sameOrigin({}));
  t.true(guard.sameOrigin({ origin: 'http://localhost:9780', 'sec-fetch-site': 'same-origin' }));
  t.false(guard.sameOrigin({ origin: 'http://evil.example' }));
  t.true(guard.sameOrigin({ 'sec-fetch-site': 'none' }), 'an address that a person typed');
  t.false(guard.sameOrigin({ origin: 'null' }));
  t.false(guard.sameOrigin({ 'sec-fetch-site': 'cross-site' }));
});

test('a token file that others may read, or a short token, is refused with its path', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-token-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string, mode: number): string => {
    writeFileSync(join(folder, name), text, { mode });
    return join(folder, name);
  };
  const token = Token.read(write('good', 'correct horse battery\n', 0o600));
  t.true(token.allows('Bearer correct horse battery'));
  for (const wrong of [
    undefined,
    '',
    'Bearer ',
    'correct horse battery',
    'Bearer correct horse batter',
    'Basic correct horse battery',
  ])
    t.false(token.allows(wrong), String(wrong));
  t.throws(() => Token.read(write('open', 'correct horse battery', 0o644)), {
    code: 'GLN_DASHBOARD_TOKEN',
    message: /others/,
  });
  t.throws(() => Token.read(write('short', 'too short', 0o600)), {
    code: 'GLN_DASHBOARD_TOKEN',
    message: /less than 16/,
  });
  t.throws(() => Token.read(join(folder, 'none')), {
    code: 'GLN_DASHBOARD_TOKEN',
    message: /cannot be read/,
  });
});

test('contention is the share of CPU wait in the last minute', (t) => {
  const contention = new ContentionWindow(60_000);
  t.is(contention.share(0), null, 'nothing ran');
  const step = (at: number, waited: number | null, ran: number): void =>
    contention.take({ at, function: 'a', waited, ran, throttled: 500, span: 1000 });
  // Throttling by its own quota is no contention; what a kernel without these counters tells is
  // left out.
  step(1000, 30, 70);
  step(2000, 10, 90);
  step(2000, null, 1000);
  t.is(contention.share(3000), 0.2);
  t.is(contention.share(61_500), 0.1, 'the first is over a minute old');
  t.is(contention.share(200_000), null);
});
