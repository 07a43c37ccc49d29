import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { LogFiles } from '../../cli/up/log-files.js';
import { temporaryFolder } from '../support/temporary-folder.js';

test('the log of a part has its newest lines, in two bounded files', (t) => {
  const folder = temporaryFolder('logs');
  const failures: string[] = [];
  // Of the start before.
  for (const name of ['hook.log', 'hook.log.1', 'agents.log.1'])
    writeFileSync(join(folder, name), 'old\n');
  const logs = new LogFiles(folder, (child) => failures.push(child), 100);
  // 10 bytes each.
  for (let i = 0; i < 50; i++) logs.write('hook', `line ${String(i).padStart(4, '0')}`);
  logs.write('agents', 'one line');
  const lines = (name: string): string[] =>
    readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');
  t.deepEqual(readdirSync(folder).sort(), ['agents.log', 'hook.log', 'hook.log.1']);
  // A file is full above 100 bytes, so with 11 lines: 4 x 11 lines are rotated away.
  t.deepEqual(
    lines('hook.log'),
    [44, 45, 46, 47, 48, 49].map((i) => `line 00${i}`),
  );
  t.is(lines('hook.log.1').length, 11);
  t.is(lines('hook.log.1').at(-1), 'line 0043');
  t.deepEqual(failures, []);
  logs.close();
});
