import { spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connect, type NatsConnection, nkeyAuthenticator } from 'nats';
import { parse } from 'yaml';
import { runAgentHost } from '../../agents/host/index.js';
import { createManager } from '../../agents/managers/index.js';
import { JsEngine, PolicyStore } from '../../agents/nn/index.js';
import type { LearnerState } from '../../agents/ppo/index.js';
import { newWeights } from '../../agents/simppo/base-policy.js';
import { settingsOf } from '../../agents/simppo/index.js';
import { BrokerOwnPolicyStore } from '../../agents/simppo/own-policy-store.js';
import { launchNatsServer } from '../../bench/nats-server.js';
import {
  type Broker,
  functionToken,
  inboxPrefixOf,
  permissionsOf,
  ROLES,
  type Role,
  services,
} from '../../broker/index.js';
import { runAggregator } from '../../broker/mean-field/index.js';
import { callEveryInstance, callService } from '../../broker/services/index.js';
import { makeCertificates } from '../../cli/nats-config/certificate.js';
import { writeNatsConfig } from '../../cli/nats-config/index.js';
import { loadConfig, millis, SeededRandom, systemClock, systemTimers } from '../../config/index.js';
import { runDashboard, Token } from '../../dashboard/index.js';
import type { FunctionDetail, Snapshot } from '../../dashboard/wire.js';
import { connectBroker } from '../../runtime/broker.js';
import { until } from '../broker/contract/harness.js';
import { NATS_BINARY } from '../broker/contract/server.js';
import { HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { until as eventually, gleaner } from '../support/gleaner.js';
import { subjectMatches } from '../support/memory-broker/subject-matches.js';
import { missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

const FN = functionToken('/guest/hello');
const requesters: Role[] = ['viewer', 'operator'];
const responders: Role[] = ['hook', 'agents', 'aggregator'];
const perEndpoint = (service: string, endpoint: string, roles: Role[]): [string, Role[]][] =>
  ['', '.host-a', '.@all'].map((suffix) => [
    `gleaner.v1.svc.${service}.${endpoint}${suffix}`,
    roles,
  ]);

const SWEPT: Readonly<Record<string, Role[]>> = {
  KV_gleaner_mode: ['operator'],
  KV_gleaner_functions: ['agents'],
  KV_gleaner_leases: ['agents'],
  KV_gleaner_actions: ['operator'],
};

/** Permissions to publish, written by hand: each role only the messages that its part sends. */
const PUBLISH: [string, Role[]][] = [
  [`gleaner.v1.obs.${FN}`, ['hook']],
  ['gleaner.v1.host.host-a', ['hook']],
  // The hook of host-a speaks for no other host.
  ['gleaner.v1.host.host-b', []],
  ['gleaner.v1.experiences.host-a', ['hook']],
  ['gleaner.v1.experiences.host-b', []],
  ['gleaner.v1.agents.agents-a', ['agents']],
  [`gleaner.v1.agent.${FN}`, ['agents']],
  ['gleaner.v1.meanfield', ['aggregator']],
  // Here agent hosts and aggregators have one user for all their hosts.
  ['gleaner.v1.service.host-a', ['hook', 'agents', 'aggregator']],
  ['gleaner.v1.service.host-b', ['agents', 'aggregator']],
  [`gleaner.v1.target.${FN}`, ['agents']],
  [`gleaner.v1.trajectory.${FN}`, ['agents']],
  ...(['safeguard', 'harvest', 'loan', 'release', 'oom', 'drift', 'mode'] as const).map(
    (kind): [string, Role[]] => [`gleaner.v1.event.${kind}._`, ['hook']],
  ),
  [`gleaner.v1.event.lifecycle.${FN}`, ['hook', 'agents']],
  [`gleaner.v1.event.concurrency.${FN}`, ['agents']],
  [`gleaner.v1.event.action.${FN}`, ['operator']],
  ['gleaner.v1.event.nothing._', []],
  ...Object.values(services).flatMap((service) => [
    ...['list', 'inspect', 'explain'].flatMap((endpoint) =>
      perEndpoint(service, endpoint, requesters),
    ),
    // Agent hosts have these endpoints; an operator may send any request to any service.
    ...['advice', 'concurrency'].flatMap((endpoint) =>
      perEndpoint(service, endpoint, service === services.agents ? requesters : ['operator']),
    ),
    ...['pause', 'resume', 'retrain', 'mode', 'restore'].flatMap((endpoint) =>
      perEndpoint(service, endpoint, ['operator']),
    ),
  ]),
  ...['PING', 'INFO', 'STATS'].flatMap((verb): [string, Role[]][] => [
    [`$SRV.${verb}`, requesters],
    [`$SRV.${verb}.gleaner-hook`, requesters],
    [`$SRV.${verb}.gleaner-hook.x`, requesters],
  ]),
  ['$KV.gleaner_mode.global', ['operator']],
  [`$KV.gleaner_mode.function.${FN}`, ['operator']],
  [`$KV.gleaner_functions.${FN}`, ['agents']],
  ['$KV.gleaner_leases.shard-3', ['agents']],
  // NATS has no wildcard for a part of a token, so agent hosts could take this lease too.
  ['$KV.gleaner_leases.gleaner-aggregator', ['agents', 'aggregator']],
  ['$KV.gleaner_policy.faasrm', ['agents', 'operator']],
  [`$KV.gleaner_actions.${FN}`, ['operator']],
  ['$O.gleaner_policies.C.x', ['agents']],
  ['$JS.API.INFO', ['hook', 'agents', 'aggregator', 'operator']],
  ...(
    [
      ['KV_gleaner_mode', ['hook', 'operator']],
      ['KV_gleaner_policy', ['hook', 'agents', 'operator']],
      ['KV_gleaner_actions', ['hook', 'agents', 'operator']],
      ['KV_gleaner_functions', ['agents']],
      ['KV_gleaner_leases', ['agents', 'aggregator']],
      ['OBJ_gleaner_policies', ['agents']],
      ['gleaner_trajectories', ['agents']],
      ['KV_of_another_client', []],
    ] as [string, Role[]][]
  ).flatMap(([stream, roles]): [string, Role[]][] => [
    [`$JS.API.STREAM.INFO.${stream}`, roles],
    [`$JS.API.STREAM.CREATE.${stream}`, roles],
    [`$JS.API.STREAM.MSG.GET.${stream}`, roles],
    [`$JS.API.DIRECT.GET.${stream}`, roles],
    [`$JS.API.DIRECT.GET.${stream}.$KV.x.y`, roles],
    [`$JS.API.STREAM.UPDATE.${stream}`, []],
    [`$JS.API.STREAM.DELETE.${stream}`, []],
    // Single entries are taken away for good by those who write them.
    [`$JS.API.STREAM.MSG.DELETE.${stream}`, SWEPT[stream] ?? []],
    [`$JS.API.STREAM.SNAPSHOT.${stream}`, []],
    [`$JS.API.STREAM.RESTORE.${stream}`, []],
    [`$JS.API.STREAM.PURGE.${stream}`, stream.startsWith('OBJ_') ? roles : []],
    [`$JS.API.CONSUMER.CREATE.${stream}`, stream.startsWith('OBJ_') ? roles : []],
    [`$JS.API.CONSUMER.CREATE.${stream}.x`, stream.startsWith('OBJ_') ? roles : []],
    [`$JS.API.CONSUMER.DELETE.${stream}.x`, stream.startsWith('OBJ_') ? roles : []],
    [`$JS.FC.${stream}.x`, stream.startsWith('OBJ_') ? roles : []],
  ]),
  ['$JS.API.STREAM.LIST', []],
  // Names alone, for reading objects.
  ['$JS.API.STREAM.NAMES', ['agents']],
  ['$JS.API.ACCOUNT.PURGE.GLEANER', []],
  // Each role receives answers on its own inbox only.
  ...ROLES.map((role): [string, Role[]] => [
    `_INBOX_gleaner_${role}.x.y`,
    requesters.includes(role) ? responders : [],
  ]),
  ['_INBOX.x', []],
  ['$SYS.REQ.SERVER.PING', []],
  ['gleaner.v2.target.x', []],
  ['anything', []],
];

/** Who may listen to what. */
const SUBSCRIBE: [string, Role[]][] = [
  ['>', []],
  ['gleaner.v1.>', []],
  ['gleaner.v1.obs.*', ['agents', 'viewer', 'operator']],
  ['gleaner.v1.host.*', ['aggregator', 'viewer', 'operator']],
  ['gleaner.v1.experiences.*', ['agents', 'viewer', 'operator']],
  ['gleaner.v1.agents.*', ['aggregator', 'viewer', 'operator']],
  ['gleaner.v1.agent.*', requesters],
  ['gleaner.v1.meanfield', ['agents', 'viewer', 'operator']],
  ['gleaner.v1.service.*', ['aggregator', 'viewer', 'operator']],
  ['gleaner.v1.target.*', ['hook', 'viewer', 'operator']],
  ['gleaner.v1.event.>', requesters],
  ['gleaner.v1.trajectory.*', []],
  ['gleaner.v1.svc.>', []],
  ...Object.entries({
    'gleaner-hook': 'hook',
    'gleaner-agents': 'agents',
    'gleaner-aggregator': 'aggregator',
  }).flatMap(([service, role]): [string, Role[]][] => [
    [`gleaner.v1.svc.${service}.restore`, [role as Role]],
    [`gleaner.v1.svc.${service}.restore.host-a`, [role as Role]],
    [`gleaner.v1.svc.${service}.restore.@all`, [role as Role]],
    // Only the aggregator has one user for all its hosts.
    [`gleaner.v1.svc.${service}.restore.host-b`, role === 'hook' ? [] : [role as Role]],
  ]),
  ['$SRV.>', []],
  ...['PING', 'INFO', 'STATS'].flatMap((verb): [string, Role[]][] => [
    [`$SRV.${verb}`, responders],
    [`$SRV.${verb}.gleaner-hook.id`, responders],
  ]),
  ['$KV.>', []],
  ['$KV.gleaner_mode.>', ['hook', 'viewer', 'operator']],
  ['$KV.gleaner_policy.>', ['hook', 'operator']],
  ['$KV.gleaner_functions.>', requesters],
  ['$KV.gleaner_actions.>', ['hook', 'agents', 'viewer', 'operator']],
  ['$KV.gleaner_leases.>', ['agents']],
  ['$JS.API.>', []],
  ['$JS.EVENT.>', []],
  ['$SYS.>', []],
  ['_INBOX.>', []],
  ...ROLES.map((role): [string, Role[]] => [`_INBOX_gleaner_${role}.>`, [role]]),
];

interface NatsFixture {
  readonly folder: string;
  readonly port: number;
  broker(role: Role): { broker: Broker; errors: string[] };
  raw(role: Role): Promise<NatsConnection>;
}

const nameOf = (role: Role): string => (role === 'hook' ? 'hook-host-a' : role);

/**
 * A real nats-server with the configuration that `gleaner nats-config` writes: TLS, NKeys,
 * permissions.
 */
async function natsFixture(t: ExecutionContext): Promise<NatsFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-nats-config-'));
  const options = {
    folder,
    listen: '127.0.0.1:4222',
    hosts: ['127.0.0.1', 'localhost'],
    storeFolder: join(folder, 'js'),
    hooks: ['host-a'],
    agents: [],
    rotate: [],
    certificates: null,
  };
  const { server: file } = writeNatsConfig(options);
  // The launcher says where: any free port of loopback, and its own store.
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/^(listen|jetstream)\b.*\n/gm, ''));
  const server = await launchNatsServer({
    binary: NATS_BINARY,
    storeDirectory: join(folder, 'js'),
    args: ['-c', file],
  });
  const open: { close(): Promise<unknown> }[] = [];
  t.teardown(async () => {
    for (const each of open) await each.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  writeNatsConfig({ ...options, listen: `127.0.0.1:${server.port}` });
  return {
    folder,
    port: server.port,
    broker: (role) => {
      const path = join(folder, `${nameOf(role)}.yaml`);
      const { config } = loadConfig({ path, readFile: (name) => readFileSync(name, 'utf8') });
      const broker = connectBroker(config.nats, role);
      const errors: string[] = [];
      broker.onStatus((status) => {
        if (status.kind === 'error') errors.push(status.error.message);
      });
      open.push(broker);
      return { broker, errors };
    },
    raw: async (role) => {
      const nats = await connect({
        servers: `tls://127.0.0.1:${server.port}`,
        tls: { caFile: join(folder, 'ca.pem') },
        inboxPrefix: inboxPrefixOf(role),
        authenticator: nkeyAuthenticator(
          new TextEncoder().encode(readFileSync(join(folder, `${nameOf(role)}.nk`), 'utf8').trim()),
        ),
      });
      open.push(nats);
      return nats;
    },
  };
}

test('the table of this test names every permission that a role has', (t) => {
  for (const role of ROLES) {
    const { publish, subscribe } = permissionsOf(role, role === 'hook' ? 'host-a' : undefined);
    const covered = (pattern: string, rows: [string, Role[]][]): boolean =>
      rows.some(
        ([subject, roles]) =>
          roles.includes(role) &&
          (subject === pattern || subjectMatches(pattern.split('.'), subject.split('.'))),
      );
    for (const pattern of publish)
      t.true(covered(pattern, PUBLISH), `${role} publishes ${pattern}`);
    for (const pattern of subscribe)
      t.true(covered(pattern, SUBSCRIBE), `${role} subscribes ${pattern}`);
  }
});

test.serial(
  'each role is denied every subject that is not its own, by a real server',
  async (t) => {
    if (
      missing(t, [
        ['nats-server', '--version'],
        ['openssl', 'version'],
      ])
    )
      return;
    const { raw } = await natsFixture(t);
    let denied = 0;
    for (const role of ROLES) {
      const nats = await raw(role);
      const refused = { publish: new Set<string>(), subscription: new Set<string>() };
      void (async () => {
        for await (const { permissionContext: context } of nats.status()) {
          if (context) refused[context.operation as keyof typeof refused].add(context.subject);
        }
      })();
      for (const [subject] of PUBLISH)
        nats.publish(subject, 'x', { reply: `${inboxPrefixOf(role)}.none` });
      for (const [subject] of SUBSCRIBE) nats.subscribe(subject, { callback: () => undefined });
      await nats.flush();
      await nats.flush();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const forbidden = (rows: [string, Role[]][]): string[] =>
        rows.filter(([, roles]) => !roles.includes(role)).map(([subject]) => subject);
      t.deepEqual([...refused.publish].sort(), forbidden(PUBLISH).sort(), `${role} publishes`);
      t.deepEqual(
        [...refused.subscription].sort(),
        forbidden(SUBSCRIBE).sort(),
        `${role} subscribes`,
      );
      denied += refused.publish.size + refused.subscription.size;
    }
    t.true(denied > 500);
  },
);

test.serial('everything works with these permissions, and a viewer changes nothing', async (t) => {
  if (
    missing(t, [
      ['nats-server', '--version'],
      ['openssl', 'version'],
    ])
  )
    return;
  const { broker: connectAs, raw } = await natsFixture(t);
  const [hook, agents, aggregator, viewer, operator] = ROLES.map((role) => connectAs(role));
  const all = [hook!, agents!, aggregator!, viewer!, operator!];
  await until(() => all.every(({ broker }) => broker.connected), 'everybody is connected');
  const run = { clock: systemClock, timers: systemTimers, intervalMs: 200 };
  const running = runAggregator({ ...run, broker: aggregator!.broker, host: 'host-a' });
  t.teardown(() => running.stop());
  const settings = {
    cap: { cpu: millis(4000) as never, memory: (1 << 30) as never },
    preset: 'default' as const,
  };
  const host = runAgentHost({
    ...run,
    broker: agents!.broker,
    host: 'agents-a',
    random: new SeededRandom(1),
    manager: createManager('greedy', settings),
  });
  t.teardown(() => host.stop());
  // The dashboard by a viewer's credentials, with a token of its own.
  const token = 'a token of some length';
  const dashboard = await runDashboard({
    broker: viewer!.broker,
    clock: systemClock,
    timers: systemTimers,
    host: '127.0.0.1',
    port: 0,
    token: new Token(token),
    maxFunctions: 5000,
    version: '0.0.0',
  });
  t.teardown(() => dashboard.stop());
  const rig = await new HookRig((config) =>
    Object.assign(config.hook, { stepActivations: 1 }),
  ).start(hook!.broker);
  t.teardown(() => rig.hook.stop());
  const container = rig.container({ quota: 1000 });
  await until(() => host.ownedShards > 0 && running.publishing, 'leases are taken', 20_000);
  await until(
    () => {
      container.call(100, 300);
      rig.advance(200);
      return rig.hook.figures().targets.accepted > 0;
    },
    'a target is taken',
    20_000,
  );
  await until(
    () => running.latest !== null && host.meanFieldAge >= 0,
    'the mean field goes round',
    20_000,
  );

  // Policies are kept as objects, trajectories in a stream; both by agent hosts.
  const objects = agents!.broker.objects('gleaner_policies');
  await objects.put('policy', new Uint8Array(300_000));
  t.is((await objects.get('policy'))?.byteLength, 300_000);
  await objects.delete('policy');
  // A function's own weights go there and come back, with the moments that learning goes on with.
  const learning = settingsOf('simppo');
  const policies = new BrokerOwnPolicyStore(new PolicyStore(objects), {
    manager: 'simppo-quota',
    settings: learning,
    seed: 1,
  });
  const weights = newWeights({ engine: new JsEngine(), settings: learning, seed: 5 });
  t.true(policies.save('/guest/hello', weights));
  const stored = (): Promise<LearnerState | null> =>
    new Promise((resolve) => policies.load('/guest/hello', resolve));
  let found = await stored();
  for (let i = 0; found === null && i < 100; i++) found = await stored();
  t.deepEqual([found?.actor, found?.counters], [weights.actor, weights.counters]);
  const stream = agents!.broker.stream('gleaner_trajectories', {
    subjects: ['gleaner.v1.trajectory.*'],
    maxBytes: 1e6,
  });
  t.is(await stream.append(`gleaner.v1.trajectory.${FN}`, new Uint8Array(8)), 1);
  t.is((await stream.read(1, 10)).length, 1);

  for (const { broker } of [viewer!, operator!]) {
    const views = await callEveryInstance(broker, {
      service: services.hook,
      endpoint: 'inspect',
    });
    t.is((views.get('host-a') as { functions: unknown[] }).functions.length, 1);
    t.is((await callEveryInstance(broker, { service: services.agents, endpoint: 'list' })).size, 1);
    t.is(
      (await callEveryInstance(broker, { service: services.aggregator, endpoint: 'inspect' })).size,
      1,
    );
  }
  // All that it shows arrives, and nothing it asks is denied.
  const page = async (path: string): Promise<unknown> =>
    (await fetch(`${dashboard.address}${path}`)).json();
  await eventually(
    async () => {
      container.call(100, 300);
      rig.advance(200);
      const {
        functions = [],
        hosts,
        meanField,
        services: parts = [],
        totals,
        events = [],
      } = (await page('/api/state')) as Snapshot;
      const seen = [
        functions.some(({ manager }) => manager === 'greedy'),
        hosts.some(({ mode }) => mode === 'enforce'),
        meanField !== undefined,
        parts.length === 3,
        totals.managers.greedy === 1,
        events.length > 0,
      ];
      return seen.every(Boolean);
    },
    30_000,
    'the dashboard shows functions, hosts, mean field, parts, agents and events',
  );
  const detail = (await page('/api/function?name=%2Fguest%2Fhello')) as FunctionDetail;
  t.true(detail.activations.length > 0 && detail.steps.length > 0);
  for (const { errors } of all) t.deepEqual(errors, []);
  // It may ask for changes and is denied; that is said.
  for (const action of ['pause', 'restore']) {
    const answer = await fetch(`${dashboard.address}/api/act`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ action, function: '/guest/hello' }),
    });
    t.is(answer.status, 502, action);
  }
  t.false(rig.hook.figures().functions[0]!.paused);
  t.true(
    viewer!.errors.length > 0 && viewer!.errors.every((text) => /permission/i.test(text)),
    viewer!.errors.join(),
  );
  // Each kind of refusal is reported once a minute.
  t.regex(viewer!.errors.join(), /publish.*pause/i);
  viewer!.errors.length = 0;
  await dashboard.stop();

  const request = { function: '/guest/hello' };
  const paused = (): boolean => rig.hook.figures().functions[0]!.paused;
  const pause = (broker: Broker) =>
    callService(broker, {
      service: services.hook,
      endpoint: 'pause',
      host: 'host-a',
      request,
      timeout: millis(500),
    });
  await t.throwsAsync(pause(viewer!.broker));
  t.false(paused());
  await t.throwsAsync(viewer!.broker.keyValue('gleaner_mode').put('global', new Uint8Array(1)));

  // A viewer asks for what it may ask for, and has the answer sent to what it may not ask: no
  // answer may be taken for a request.
  const served = async (): Promise<Record<string, number>> => {
    const answer = await viewer!.broker.request(
      '$SRV.STATS.gleaner-hook',
      new Uint8Array(0),
      millis(1000),
    );
    const { endpoints } = JSON.parse(new TextDecoder().decode(answer.data)) as {
      endpoints: { name: string; num_requests: number }[];
    };
    return Object.fromEntries(endpoints.map(({ name, num_requests }) => [name, num_requests]));
  };
  const before = await served();
  const forgedReplyViewer = await raw('viewer');
  const body = JSON.stringify(request);
  for (const target of ['pause', 'restore'].map(
    (endpoint) => `gleaner.v1.svc.gleaner-hook.${endpoint}.host-a`,
  )) {
    forgedReplyViewer.publish('gleaner.v1.svc.gleaner-hook.explain.host-a', body, {
      reply: target,
    });
    forgedReplyViewer.publish('$SRV.PING.gleaner-hook', '', { reply: target });
  }
  // Nor through JetStream, whose answers come from the server itself and so pass every
  // permission.
  const forgedReplyHook = await raw('hook');
  forgedReplyHook.publish('$JS.API.STREAM.INFO.KV_gleaner_mode', '', {
    reply: 'gleaner.v1.svc.gleaner-hook.restore.host-a',
  });
  await Promise.all([forgedReplyViewer.flush(), forgedReplyHook.flush()]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.false(paused());
  // Not one request more than were asked for by name: two of `explain`, whose answers went
  // nowhere.
  t.deepEqual(await served(), { ...before, explain: before.explain! + 2 });

  await pause(operator!.broker);
  t.true(paused());
  await operator!.broker
    .keyValue('gleaner_mode')
    .put('global', new TextEncoder().encode('{"v":1,"kill":true,"author":"op"}'));
  await until(() => rig.hook.figures().host.killed, 'the kill switch by key-value');
  t.deepEqual(operator!.errors, []);
});

test.serial('wrong credentials are reported within a second, not as a timeout', async (t) => {
  if (
    missing(t, [
      ['nats-server', '--version'],
      ['openssl', 'version'],
    ])
  )
    return;
  const { folder, port } = await natsFixture(t);
  const config = join(folder, 'viewer.yaml');
  t.is(
    (await gleaner(['--config', config, 'status'])).code,
    1,
    'no part answers, but the connection is accepted',
  );

  // A seed the server does not know.
  const stranger = mkdtempSync(join(tmpdir(), 'gleaner-stranger-'));
  t.teardown(() => rmSync(stranger, { recursive: true, force: true }));
  const listen = `127.0.0.1:${port}`;
  const options = {
    folder: stranger,
    listen,
    hosts: ['127.0.0.1'],
    storeFolder: stranger,
    hooks: [],
    agents: [],
    rotate: [],
  };
  writeNatsConfig({
    ...options,
    certificates: { ca: join(folder, 'ca.pem'), certificate: '/x', key: '/x' },
  });
  const begun = performance.now();
  const refused = await gleaner(['--config', join(stranger, 'viewer.yaml'), 'status']);
  const took = performance.now() - begun;
  t.is(refused.code, 1);
  t.regex(refused.err, /NATS refuses this client: .*\[GLN_BROKER_AUTH\]/s);
  // The start of the program is in it: under 2 s where connecting took under 1 s.
  const { config: loaded } = loadConfig({
    path: join(stranger, 'viewer.yaml'),
    readFile: (name) => readFileSync(name, 'utf8'),
  });
  const broker = connectBroker(loaded.nats, 'stranger');
  t.teardown(() => broker.close());
  const since = performance.now();
  const code = await new Promise<string>((resolve) => {
    broker.onStatus((status) => {
      if (status.kind === 'error') resolve(status.error.code);
    });
  });
  t.is(code, 'GLN_BROKER_AUTH');
  t.true(performance.now() - since < allowed(1000));
  t.log(`the command took ${Math.round(took)} ms`);

  // No credentials; a server with a certificate of another authority.
  const bare = await gleaner([
    '--nats',
    `tls://127.0.0.1:${port}`,
    '--set',
    `nats.caFile=${join(folder, 'ca.pem')}`,
    'status',
  ]);
  t.regex(bare.err, /GLN_BROKER_AUTH/);
  const other = await gleaner([
    '--config',
    config,
    '--set',
    `nats.caFile=${makeCertificates(stranger, ['x']).ca}`,
    'status',
  ]);
  t.regex(other.err, /GLN_BROKER_TLS/);
  const plain = await gleaner(['--nats', `nats://127.0.0.1:${port}`, 'status']);
  t.regex(plain.err, /GLN_BROKER_TLS/);

  // A seed that others may read is refused before anything is sent.
  chmodSync(join(folder, 'viewer.nk'), 0o644);
  const loose = await gleaner(['--config', config, 'status']);
  t.is(loose.code, 1);
  t.regex(loose.err, /viewer\.nk: others may read it: chmod 600 \[GLN_BROKER_CREDENTIALS\]/);
});

test.serial('a part with the most verbose log does not log its seed', async (t) => {
  if (
    missing(t, [
      ['nats-server', '--version'],
      ['openssl', 'version'],
    ])
  )
    return;
  const { folder } = await natsFixture(t);
  const set = ['log.level=debug', 'metrics.aggregator=null'].flatMap((each) => ['--set', each]);
  const args = [
    'dist/cli/main.js',
    '--config',
    join(folder, 'aggregator.yaml'),
    ...set,
    'aggregator',
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk));
  await until(() => output.includes('publishing the mean field'), 'it works', 20_000);
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.kill('SIGTERM');
  t.is(await ended, 0, output);
  const printed = await gleaner(['--config', join(folder, 'aggregator.yaml'), 'config', 'print']);
  t.is(printed.code, 0);
  const seed = readFileSync(join(folder, 'aggregator.nk'), 'utf8').trim();
  t.is(seed.length, 58);
  for (const text of [output, printed.out, printed.err]) t.false(text.includes(seed));
});

test.serial('a second run keeps secrets, adds a host, and renews only chosen seeds', (t) => {
  if (missing(t, [['openssl', 'version']])) return;
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-nats-again-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const options = {
    folder,
    listen: '0.0.0.0:4222',
    hosts: ['nats.example'],
    storeFolder: '/x',
    agents: [],
    rotate: [],
    certificates: null,
  };
  const contents = (): Map<string, string> =>
    new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const { identities } = writeNatsConfig({ ...options, hooks: ['a'] });
  const first = contents();
  for (const name of first.keys()) {
    const secret = /\.nk$|-key\.pem$/.test(name);
    if (secret) t.is(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    else t.notRegex(first.get(name)!, /SU[A-Z2-7]{56}|PRIVATE KEY/, name);
  }
  writeNatsConfig({ ...options, hooks: ['a'] });
  t.deepEqual(contents(), first);
  const added = writeNatsConfig({ ...options, hooks: ['a', 'b'], rotate: ['viewer'] });
  const keyOf = (list: typeof identities, name: string) =>
    list.find((each) => each.name === name)?.publicKey;
  t.is(keyOf(added.identities, 'hook-a'), keyOf(identities, 'hook-a'));
  t.not(keyOf(added.identities, 'viewer'), keyOf(identities, 'viewer'));
  t.truthy(keyOf(added.identities, 'hook-b'));
  t.is(contents().get('server.pem'), first.get('server.pem'));
  // A host's credentials are for its name only, so its part must not take the machine's.
  t.deepEqual(parse(contents().get('hook-b.yaml')!).hook, { hostName: 'b' });
  t.is(parse(contents().get('viewer.yaml')!).hook, undefined);
  // Without its flags a run keeps what the ones before have made.
  const before = contents();
  const unsaid = { listen: null, hosts: null, storeFolder: null, hooks: [] };
  writeNatsConfig({ ...options, ...unsaid });
  t.deepEqual(contents(), before);
  const { identities: rotated } = writeNatsConfig({ ...options, ...unsaid, rotate: ['hook-b'] });
  t.deepEqual(
    rotated.map(({ name }) => name),
    added.identities.map(({ name }) => name),
  );
  t.not(keyOf(rotated, 'hook-b'), keyOf(added.identities, 'hook-b'));
  // A seed whose user was taken away, or that was put there, is no identity.
  writeFileSync(join(folder, 'hook.nk'), before.get('hook-a.nk')!, { mode: 0o600 });
  rmSync(join(folder, 'hook-b.nk'));
  const third = writeNatsConfig({ ...options, ...unsaid, hooks: ['c'] });
  t.deepEqual(
    third.identities.filter(({ role }) => role === 'hook').map(({ name }) => name),
    ['hook-c', 'hook-a'],
  );
  t.throws(() => writeNatsConfig({ ...options, hooks: ['a b'] }), { code: 'GLN_USAGE' });
  t.throws(() => writeNatsConfig({ ...options, hooks: [], rotate: ['unknown'] }), {
    code: 'GLN_USAGE',
  });
  writeFileSync(join(folder, 'viewer.nk'), 'SUBAD');
  t.throws(() => writeNatsConfig({ ...options, hooks: [] }), {
    code: 'GLN_BROKER_CREDENTIALS',
    message: /viewer\.nk/,
  });
});

test.serial('a server that gets another name gets another certificate', (t) => {
  if (missing(t, [['openssl', 'version']])) return;
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-nats-names-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  const write = (hosts: string[] | null, listen = '0.0.0.0:4222') =>
    writeNatsConfig({
      ...{ folder, listen, hosts, storeFolder: '/x', hooks: [], agents: [] },
      ...{ rotate: [], certificates: null },
    });
  const certificate = () => new X509Certificate(readFileSync(at('server.pem')));
  const authority = () => new X509Certificate(readFileSync(at('ca.pem')));
  const servers = (): unknown => parse(readFileSync(at('viewer.yaml'), 'utf8')).nats.servers;

  write(['a.example']);
  const first = certificate();
  write(['b.example', '::1']);
  const second = certificate();
  // Clients with the configuration of the first run still find its name.
  for (const host of ['a.example', 'b.example', 'localhost']) t.is(second.checkHost(host), host);
  t.truthy(second.checkIP('::1'));
  t.true(second.checkIssued(authority()) && second.verify(authority().publicKey));
  t.true(second.checkPrivateKey(createPrivateKey(readFileSync(at('server-key.pem')))));
  t.deepEqual(servers(), ['tls://b.example:4222']);

  // The key of the authority may be elsewhere: only a new name needs it.
  renameSync(at('ca-key.pem'), at('elsewhere'));
  write(['::1']);
  t.is(certificate().fingerprint256, second.fingerprint256);
  t.not(certificate().fingerprint256, first.fingerprint256);
  t.deepEqual(servers(), ['tls://[::1]:4222']);
  // Without hosts those of the certificate stay.
  write(null);
  t.deepEqual(servers(), ['tls://b.example:4222']);
  t.throws(() => write(['c.example']), { code: 'GLN_NATS_CERTIFICATE', message: /ca-key\.pem/ });
  t.is(certificate().fingerprint256, second.fingerprint256);
  t.true(second.checkPrivateKey(createPrivateKey(readFileSync(at('server-key.pem')))));
  for (const listen of ['0.0.0.0', '4222', '0.0.0.0:port', 'h:70000'])
    t.throws(() => write(['b.example'], listen), { code: 'GLN_USAGE' }, listen);
});
