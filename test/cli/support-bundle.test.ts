import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { redacted, redactedValue } from '../../cli/support/redact.js';
import { gleaner } from '../support/gleaner.js';

/** Made-up secrets of each kind, which must not be in a bundle. */
const secrets = {
  url: 'hunter2hunter2',
  seed: 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY',
  jwt: 'eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJBQkMifQ.c2lnbmF0dXJl',
  auth:
    '23bc46b1-71f6-4ed5-8c54-816aa4f8c502:' +
    '123zO3xZCLrMN6v2BKK1dXYFpXlPkccOFqm12CdAsMgRU4VrNZ9lyGVCGuMDGIwP',
  bearer: 'abcdef0123456789abcdef',
  slashed: 'S3cr3t/Pw',
  at: 'p@ssw0rd',
  pem: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
};
const lines = [
  `connecting to nats://user:${secrets.url}@host:4222`,
  `connecting to nats://user:${secrets.slashed}@host:4222, nats://user:${secrets.at}@host`,
  `seed ${secrets.seed}`,
  `-----BEGIN USER JWT-----\n${secrets.jwt}\n------END USER JWT------`,
  `x-token ${secrets.jwt}`,
  `Authorization: Basic ${Buffer.from(secrets.auth).toString('base64')}`,
  `Authorization: Bearer ${secrets.bearer}`,
  `__OW_API_KEY=${secrets.auth}`,
  `-----BEGIN PRIVATE KEY-----\n${secrets.pem}\n-----END PRIVATE KEY-----`,
  `{"password":"${secrets.url}","limit":3}`,
  `clientSecret: ${secrets.slashed}`,
  `AWS_SECRET_ACCESS_KEY=${secrets.slashed} next`,
  JSON.stringify({ msg: JSON.stringify({ natsPassword: secrets.at, limit: 3 }) }),
  JSON.stringify({ api_key: `quoted"${secrets.at}` }),
];
const held = (text: string): string[] =>
  Object.entries({ ...secrets, basic: Buffer.from(secrets.auth).toString('base64') })
    .filter(([, secret]) => text.includes(secret))
    .map(([name]) => name);

test('each pattern of secrets is redacted, and other text is kept', (t) => {
  for (const line of lines) t.deepEqual(held(redacted(line)), [], line);
  const kept =
    'function /guest/hello on host invoker-1: 128 MiB, reason over_provisioned, id 3f2a9c10d4';
  t.is(redacted(kept), kept);
  t.deepEqual(redactedValue({ a: [lines[0], 3, null], token: 'x', tokens: 4 }), {
    a: ['connecting to nats://***@host:4222', 3, null],
    token: '***',
    tokens: 4,
  });
  const names = ['api_key', 'apiKey', 'clientSecret', 'natsPassword', 'AWS_SECRET_ACCESS_KEY'];
  for (const name of names) t.deepEqual(redactedValue({ [name]: 'x' }), { [name]: '***' }, name);
  // What names a file, and words that contain the name of a secret, are needed for a diagnosis.
  const files = { tokenFile: '/etc/gleaner/token', credentialsFile: 'default', author: 'agents' };
  t.deepEqual(redactedValue(files), files);
  t.is(
    redacted('dashboard.tokenFile: /etc/t, author: hook'),
    'dashboard.tokenFile: /etc/t, author: hook',
  );
  t.is(
    redacted(String.raw`{"msg":"{\"token\":\"a\",\"limit\":3}"}`),
    String.raw`{"msg":"{\"token\":\"***\",\"limit\":3}"}`,
  );
});

test('a bundle has every part, is private, and holds no secrets', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bundle-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'logs', 'hook.log'), `${lines.join('\n')}\nkeep this line\n`);
  writeFileSync(
    join(folder, 'audit.jsonl'),
    `${JSON.stringify({ who: 'operator:me', why: lines[0] })}\n`,
  );
  const file = join(folder, 'bundle.json.gz');
  const nats = `nats://user:${secrets.url}@127.0.0.1:1`;
  const set = ['--set', `hook.stateDir=${folder}`];
  const { code, err } = await gleaner([...set, '--nats', nats, 'support-bundle', file]);
  t.is(code, 0, err);
  t.is(statSync(file).mode & 0o077, 0);
  const text = gunzipSync(readFileSync(file)).toString();
  t.deepEqual(held(text), []);
  const bundle = JSON.parse(text) as Record<string, unknown>;
  const parts = ['gleaner', 'config', 'doctor', 'nats', 'audit', 'modeChanges', 'logs'];
  t.deepEqual(Object.keys(bundle), parts);
  t.regex(text, /keep this line/);
  t.regex(text, /operator:me/);
  // What cannot be had says why.
  t.regex(JSON.stringify(bundle.nats), /missing.*cannot reach nats:/);
});
