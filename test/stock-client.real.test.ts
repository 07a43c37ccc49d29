/**
 * Everything an operator may want of Gleaner with a stock NATS client alone: this file imports
 * nothing of ours. Gleaner is a program that runs beside it; docs/nats.md shows the same with the
 * `nats` command.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  connect,
  JSONCodec,
  type NatsConnection,
  type RequestManyOptions,
  RequestStrategy,
  StringCodec,
} from 'nats';
import { allowed } from './support/slowness.js';

// biome-ignore lint/suspicious/noExplicitAny: a stock client has no types of messages.
type Loose = any;

const json = JSONCodec<Loose>();
const text = StringCodec();
const folder = mkdtempSync(join(tmpdir(), 'gleaner-stock-'));
const children: ChildProcess[] = [];
let output = '';

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => (output += chunk));
  children.push(child);
  return child;
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  timeout = 20_000,
): Promise<T> {
  const end = Date.now() + allowed(timeout);
  for (;;) {
    const answer = await ask().catch(() => null);
    if (answer) return answer;
    if (Date.now() > end)
      throw new Error(`not within ${timeout} ms: ${what}\n${output.slice(-2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test.after.always(async () => {
  for (const child of children.reverse()) {
    if (child.exitCode !== null) continue;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

async function begin(t: ExecutionContext): Promise<NatsConnection | null> {
  const binary = ['nats-server', '/usr/sbin/nats-server'].find(
    (path) => spawnSync(path, ['--version']).status === 0,
  );
  if (binary === undefined) {
    if (process.env.CI) t.fail('needs nats-server');
    else t.log('NOT RUN: needs nats-server');
    t.pass();
    return null;
  }
  const port = await freePort();
  start(binary, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', join(folder, 'js')]);
  const servers = `nats://127.0.0.1:${port}`;
  const nats = await until('the server', () => connect({ servers, reconnect: false }));
  const settings = {
    mode: 'enforce',
    platform: 'simulated',
    'hook.stateDir': join(folder, 'state'),
    'hook.hostName': 'invoker0',
    'decision.policy.quota': 'target',
    'decision.targetStaleMs': '300000',
    'simulator.speed': '20',
    'agents.intervalMs': '500',
    'aggregator.intervalMs': '500',
  };
  const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  start(process.execPath, ['dist/cli/main.js', '--nats', servers, ...set, 'up', '--plain']);
  return nats;
}

test.serial(
  'a stock client lists, watches, reads the mean field, pauses and restores',
  async (t) => {
    const nats = await begin(t);
    if (nats === null) return;
    const ask = async (subject: string, request: object = {}): Promise<Loose> =>
      JSON.parse(
        text.decode(
          (
            await nats.request(subject, text.encode(JSON.stringify(request)), {
              timeout: allowed(2000),
            })
          ).data,
        ),
      );
    const everyone = async (subject: string, request: object = {}): Promise<Loose[]> => {
      // A busy host's first answer takes longer than the others take after it.
      const options: Partial<RequestManyOptions> = {
        strategy: RequestStrategy.JitterTimer,
        maxWait: allowed(2000),
      };
      const answers: Loose[] = [];
      for await (const answer of await nats.requestMany(
        subject,
        text.encode(JSON.stringify(request)),
        options,
      ))
        answers.push(JSON.parse(text.decode(answer.data)));
      return answers;
    };
    const svc = (service: string, endpoint: string): string =>
      `gleaner.v1.svc.gleaner-${service}.${endpoint}`;

    // Discovery, by the conventions of NATS' micro-services.
    const found = await until('three services', async () => {
      const pings = await everyone('$SRV.PING');
      const names = [...new Set(pings.map(({ name }) => name as string))].sort();
      return names.length === 3 && names;
    });
    t.deepEqual(found, ['gleaner-agents', 'gleaner-aggregator', 'gleaner-hook']);
    const info = await ask('$SRV.INFO.gleaner-hook');
    t.is(info.type, 'io.nats.micro.v1.info_response');
    t.is(info.metadata.host, 'invoker0');
    t.deepEqual(
      info.endpoints.map(({ name }: { name: string }) => name),
      ['list', 'inspect', 'explain', 'pause', 'resume', 'mode', 'restore'],
    );
    t.true(info.endpoints.every((endpoint: Loose) => endpoint.metadata.description.length > 10));

    // List functions.
    const functions = await until('two functions that run', async () => {
      const inspected = await ask(svc('hook', 'inspect'), { containers: 0 });
      const busy = inspected.functions.filter(({ activations }: Loose) => activations > 2);
      return busy.length >= 2 && (busy as Loose[]);
    });
    const listed: string[] = (await ask(svc('hook', 'list'))).functions;
    for (const { name } of functions) t.true(listed.includes(name));

    // Watch decisions: the agents' targets, and the hook's grants and reasons.
    const target = await until('a target', async () => {
      const targets = nats.subscribe('gleaner.v1.target.*', { max: 1 });
      for await (const message of targets) return json.decode(message.data);
    });
    t.true(listed.includes(target.function));
    t.is(target.author.manager, 'fixed');
    const explained = await ask(svc('hook', 'explain'), { function: functions[0].name });
    t.true(explained.activations.length > 0);
    for (const { cpu } of explained.activations) {
      t.is(typeof cpu.rangeReason, 'string');
      const isWithin = cpu.granted >= cpu.lower - 1e-6 && cpu.granted <= cpu.upper + 1e-6;
      // Until a function has a target it has its user's limit, which may be below its range.
      const isUsers = cpu.choice === 'no_target' && cpu.granted === cpu.user;
      t.true(isWithin || isUsers, JSON.stringify(cpu));
    }
    const decided = await ask(svc('agents', 'explain'), { function: target.function });
    t.true(decided.decisions[0].sent);
    t.true(decided.decisions[0].features.every((feature: number) => feature >= 0 && feature <= 1));

    // Read the mean field: as it is published, and what it was made of.
    const field = await until('a mean field with members', async () => {
      for await (const message of nats.subscribe('gleaner.v1.meanfield', { max: 1 })) {
        const decoded = json.decode(message.data);
        return decoded.totals.members > 0 && decoded;
      }
    });
    t.deepEqual(
      field.hosts.map(({ host }: Loose) => host),
      ['invoker0'],
    );
    t.true(field.hosts[0].price.cpu >= 0 && field.hosts[0].price.cpu <= 1);
    const made = await ask(svc('aggregator', 'explain'));
    t.is(made.invokers[0].report.host, 'invoker0');
    // occupancy = demand / available
    const { report, occupancy } = made.invokers[0];
    t.true(Math.abs(occupancy.cpu - report.demand.cpu / report.available.cpu) < 1e-9);

    // Pause one function, so that it stays paused: on every host, by the bucket.
    const [one, other] = functions;
    const modes = await nats.jetstream().views.kv('gleaner_mode');
    const key = `function.${Buffer.from(one.name).toString('base64url')}`;
    const told: Loose[] = [];
    const events = nats.subscribe('gleaner.v1.event.mode.>');
    void (async () => {
      for await (const message of events) told.push(json.decode(message.data));
    })();
    await modes.put(key, JSON.stringify({ v: 1, paused: true, author: 'a stock client' }));
    const view = async (name: string): Promise<Loose> =>
      await ask(svc('hook', 'inspect'), { function: name, containers: 50 });
    await until('it is paused', async () => (await view(one.name)).functions[0].paused === true);
    const { functions: pausedViews, containers } = await view(one.name);
    t.is(pausedViews.length, 1);
    for (const { user, limits } of containers) t.is(limits.memory, user.memory);
    t.is(pausedViews[0].cpu, pausedViews[0].userCpu);
    t.false((await view(other.name)).functions[0].paused);
    await until('an event', async () =>
      told.some((event) => event.function === one.name && /paused/.test(event.reason)),
    );
    await modes.delete(key);
    await until('it goes on', async () => (await view(one.name)).functions[0].paused === false);
    // Or on one host, until it restarts.
    t.true((await ask(`${svc('hook', 'pause')}.invoker0`, { function: one.name })).paused);
    t.false((await ask(`${svc('hook', 'resume')}.invoker0`, { function: one.name })).paused);

    // Restore all: every host answers; and hold it with the kill switch.
    const restored = await everyone(`${svc('hook', 'restore')}.@all`, { author: 'a stock client' });
    t.is(restored.length, 1);
    t.is(restored[0].failed, 0);
    await modes.put('global', JSON.stringify({ v: 1, kill: true, author: 'a stock client' }));
    await until(
      'the kill switch holds',
      async () => (await ask(svc('hook', 'list'))).host.killed === true,
    );
    const held = await ask(svc('hook', 'inspect'));
    t.deepEqual(held.host.killedBy, ['kv']);
    for (const { cpu, userCpu, cpuMode } of held.functions)
      if (cpuMode === 'quota') t.is(cpu, userCpu);
    await modes.delete('global');
    await until('it is let go', async () => (await ask(svc('hook', 'list'))).host.killed === false);

    // What is wrong is an error with a reason, and true times are told.
    const refused = await nats.request(svc('hook', 'explain'), text.encode('{"function": 3}'), {
      timeout: allowed(2000),
    });
    t.is(refused.headers?.get('Nats-Service-Error-Code'), '400');
    t.regex(refused.headers?.get('Nats-Service-Error') ?? '', /^function: /);
    const stats = await ask('$SRV.STATS.gleaner-hook');
    const inspect = stats.endpoints.find(({ name }: Loose) => name === 'inspect');
    t.true(inspect.num_requests > 0);
    // An inspection of ten functions takes some time, and never half a second.
    t.true(
      inspect.average_processing_time > 1000 && inspect.average_processing_time < allowed(5e8),
    );
    t.is(stats.endpoints.find(({ name }: Loose) => name === 'explain').num_errors, 1);
    await nats.close();
  },
);
