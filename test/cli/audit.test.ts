import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { gleaner } from '../support/gleaner.js';

function line(n: number, action: string, who = 'policy:short-first'): string {
  const limits = { resource: 'cpu.quota', old: 1000, new: 500 + n };
  const at = `2026-01-01T00:00:0${n}.000Z`;
  return `${JSON.stringify({ at, who, why: 'start', action, ...limits })}\n`;
}

test('the audit log is read over its rotated files, newest last, and filtered', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-audit-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const audit = (...args: string[]) =>
    gleaner(['--set', `hook.stateDir=${folder}`, 'audit', ...args]);
  const missing = await audit();
  t.is(missing.code, 1);
  t.regex(missing.err, /GLN_AUDIT_MISSING.*\n.*hook\.stateDir/);
  // `.1` is the younger of the rotated ones; the newest line is half written.
  writeFileSync(
    join(folder, 'audit.jsonl.2'),
    `${line(1, '/guest/a')}[1]\n{"who":5}\n${line(2, '/guest/b')}`,
  );
  writeFileSync(join(folder, 'audit.jsonl.1'), line(3, '/guest/a'));
  writeFileSync(join(folder, 'audit.jsonl'), `${line(4, '/guest/a', 'safeguard')}{"at":"2026`);
  const news = async (...args: string[]): Promise<number[]> =>
    (JSON.parse((await audit('-o', 'json', ...args)).out) as { new: number }[]).map(
      (one) => one.new,
    );
  t.deepEqual(await news('-n', '3'), [502, 503, 504]);
  t.deepEqual(await news('--who', 'policy'), [501, 502, 503]);
  t.deepEqual(await news('-n', '2'), [503, 504]);
  t.deepEqual(await news('--function', '/guest/a', '-n', '2'), [503, 504]);
  t.deepEqual(await news('--who', 'safeguard'), [504]);
  t.regex((await audit('-n', '1')).out, /safeguard +start +\/guest\/a +cpu\.quota +1 +0\.5/);
  t.is((await audit('-n', '0')).code, 2);
  t.deepEqual(await news('--modes'), [], 'the mode has not been changed yet');
  writeFileSync(join(folder, 'audit-modes.jsonl'), line(5, '/guest/a', 'operator:ann'));
  t.deepEqual(await news('--modes'), [505]);
});
