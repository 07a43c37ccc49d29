import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { loadConfig } from '../../config/index.js';
import { checkCredentials } from '../../runtime/credentials.js';

const folder = mkdtempSync(join(tmpdir(), 'gleaner-credentials-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

function problems(key: string, text: string | null, mode = 0o600): string[] {
  const path = join(folder, `${key}-${Math.round(performance.now() * 1000)}`);
  if (text !== null) writeFileSync(path, text);
  if (text !== null) chmodSync(path, mode);
  const { nats } = loadConfig({ flags: { [`nats.${key}`]: path } }).config;
  return checkCredentials(nats).map((problem) => `${problem.path}: ${problem.message}`);
}

/** The shape of an NKey user seed: SU, then 56 characters of base32. */
const SEED = `SU${'A'.repeat(56)}`;

test('a bad seed is named by its file before anything connects', (t) => {
  t.deepEqual(problems('nkeySeedFile', 'SUBAD'), ['nats.nkeySeedFile: holds no NKey seed']);
  t.deepEqual(problems('nkeySeedFile', SEED), []);
});

test('credentials need a user JWT and a seed', (t) => {
  t.deepEqual(problems('credentialsFile', SEED), ['nats.credentialsFile: holds no user JWT']);
  t.deepEqual(problems('credentialsFile', `-----BEGIN NATS USER JWT-----\nx\n${SEED}\n`), []);
});

test('secrets that others may read, and files that are not there, are problems', (t) => {
  t.deepEqual(problems('nkeySeedFile', SEED, 0o644), [
    'nats.nkeySeedFile: others may read it: chmod 600',
  ]);
  t.regex(problems('caFile', null)[0] ?? '', /^nats\.caFile: cannot be read: ENOENT/);
  t.deepEqual(problems('caFile', 'x'), ['nats.caFile: is not a PEM file']);
});
