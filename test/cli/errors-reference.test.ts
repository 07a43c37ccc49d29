import { execFileSync } from 'node:child_process';
import test from 'ava';
import { BrokerTlsError } from '../../broker/errors.js';
import { NoRespondersError } from '../../broker/index.js';
import { errorRows } from '../../cli/errors-reference.js';
import type { GleanerError } from '../../config/index.js';

test('every code in the sources is in the reference, with what it says and what to do', (t) => {
  const folders = [
    'agents',
    'broker',
    'cli',
    'config',
    'dashboard',
    'openwhisk-plugin',
    'simulator',
  ];
  const found = execFileSync(
    'grep',
    ['-rhoE', "code = 'GLN_[A-Z_]+'", '--include=*.ts', ...folders],
    {
      encoding: 'utf8',
    },
  );
  const codes = new Set(
    found
      .trim()
      .split('\n')
      .map((line) => line.slice("code = '".length, -1)),
  );
  const rows = errorRows('.');
  t.deepEqual(
    rows.map(({ code }) => code),
    [...codes].sort(),
  );
  t.true(rows.length > 50);
  for (const { code, says, hints } of rows) {
    t.true(says.join('').length > 3, code);
    t.true(hints.length > 0, code);
    for (const text of [...says, ...hints]) {
      t.notRegex(text, /\$\{|undefined/, code);
      t.is(text.split('`').length % 2, 1, `${code}: ${text}`);
    }
  }
});

test('what the reference says is what the error says', (t) => {
  const row = (code: string) => errorRows('.').find((each) => each.code === code)!;
  const assertDocumented = (error: GleanerError, says: string): void => {
    const pattern = says
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*');
    t.regex(error.message, new RegExp(`^${pattern}$`));
  };
  const silent = new NoRespondersError('a.b');
  assertDocumented(silent, row('GLN_BROKER_NO_RESPONDERS').says[0]!);
  t.is(row('GLN_BROKER_NO_RESPONDERS').hints[0], silent.hint);
  assertDocumented(new BrokerTlsError('no'), row('GLN_BROKER_TLS').says[0]!);
});
