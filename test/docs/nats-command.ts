/**
 * A stand-in for the command `nats`, which Debian does not package: the commands and flags that
 * docs/nats.md uses, and an error for every other. Imports nothing of Gleaner.
 *
 *   nats micro ls | info NAME | stats NAME
 *   nats req SUBJECT BODY [--replies N]
 *   nats sub SUBJECT [--count N]        ends after the first message
 *   nats kv put BUCKET KEY VALUE | del BUCKET KEY --force
 *
 * The server is $NATS_URL. Exit code 1: no answer, or an error.
 */
import { parseArgs } from 'node:util';
import { connect, type Msg, type NatsConnection, RequestStrategy } from 'nats';

const WAIT = 2000;
const FIRST_MESSAGE = 20_000;

function fail(text: string): never {
  process.stderr.write(`nats: ${text}\n`);
  process.exit(1);
}

async function micro(
  nats: NatsConnection,
  verb: string | undefined,
  name: string | undefined,
): Promise<void> {
  const monitor = nats.services.client({ strategy: RequestStrategy.JitterTimer, maxWait: WAIT });
  const asked = {
    ls: monitor.ping.bind(monitor),
    info: monitor.info.bind(monitor),
    stats: monitor.stats.bind(monitor),
  }[verb ?? ''];
  if (asked === undefined) fail(`no such command: micro ${verb}`);
  let found = 0;
  for await (const one of await asked(name)) {
    found++;
    process.stdout.write(`${JSON.stringify(one)}\n`);
  }
  if (found === 0) fail('no service answered');
}

function show(message: Msg): void {
  const error = message.headers?.get('Nats-Service-Error-Code');
  process.stdout.write(`${message.string()}\n`);
  if (error) fail(`error ${error}: ${message.headers?.get('Nats-Service-Error')}`);
}

async function request(
  nats: NatsConnection,
  subject: string,
  body: string,
  replies: string | undefined,
): Promise<void> {
  if (replies === undefined) return show(await nats.request(subject, body, { timeout: WAIT }));
  if (replies !== '0') fail(`--replies ${replies} is not supported`);
  let found = 0;
  for await (const message of await nats.requestMany(subject, body, {
    strategy: RequestStrategy.JitterTimer,
    maxWait: WAIT,
  })) {
    found++;
    show(message as Msg);
  }
  if (found === 0) fail(`no answer on ${subject}`);
}

async function listen(nats: NatsConnection, subject: string): Promise<void> {
  const late = setTimeout(() => fail(`no message on ${subject} in time`), FIRST_MESSAGE);
  for await (const message of nats.subscribe(subject)) {
    process.stdout.write(`${message.subject}\n${message.string()}\n`);
    break;
  }
  clearTimeout(late);
}

async function keyValue(
  nats: NatsConnection,
  [verb, bucket = '', key = '', value]: string[],
  force: boolean,
): Promise<void> {
  const store = await nats.jetstream().views.kv(bucket, { bindOnly: true });
  if (verb === 'put' && value !== undefined) await store.put(key, value);
  // Without --force the command asks for confirmation, which no test can give.
  else if (verb === 'del' && force) await store.delete(key);
  else fail(`no such command: kv ${verb}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    replies: { type: 'string' },
    count: { type: 'string' },
    force: { type: 'boolean', default: false },
  },
});
const [command, ...rest] = positionals;
const nats = await connect({ servers: process.env.NATS_URL ?? fail('NATS_URL is not set') });
if (command === 'micro') await micro(nats, rest[0], rest[1]);
else if (command === 'req' && rest.length === 2)
  await request(nats, rest[0]!, rest[1]!, values.replies);
else if (command === 'sub' && rest.length === 1) await listen(nats, rest[0]!);
else if (command === 'kv') await keyValue(nats, rest, values.force);
else fail(`no such command: ${positionals.join(' ')}`);
await nats.close();
