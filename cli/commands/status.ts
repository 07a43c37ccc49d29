import type { Command } from 'commander';
import { type Broker, services } from '../../broker/index.js';
import {
  askEvery,
  auditText,
  type ExpectedInstances,
  expectedInstances,
  type FailedInstance,
  findServices,
  type HostView,
  killReasonLines,
  modesText,
  type ServiceInstance,
  sharedNames,
  tapText,
} from '../../broker/services/index.js';
import { EXIT, millis, reportProblem } from '../../config/index.js';
import {
  cores,
  count,
  type HookAnswer,
  inspectHooks,
  json,
  left,
  loadSettings,
  mebibytesText,
  plainText,
  processScreen,
  right,
  span,
  table,
  withBroker,
} from '../../runtime/index.js';
import { failingStores, refusedLines, refusedOf, storesOf } from '../store-lines.js';
import { verdictLines } from '../verdict.js';
import {
  addOutputOption,
  globalOptions,
  type OutputOptions,
  reportNoAnswer,
  warnMissing,
  warnUnreadable,
} from './common.js';

interface ServiceLine {
  readonly service: string;
  readonly host: string;
  readonly version: string;
  /** Engine of an agent host's neural networks. */
  readonly engine?: string;
  /** As a whole: it publishes nothing until it is resumed. */
  readonly paused: boolean;
  /** Stored objects that an agent host leaves as they are. */
  readonly newerObjects?: number;
}

const keyOf = (service: string, host: string): string => `${service} ${host}`;

type PartState = Pick<ServiceLine, 'paused' | 'newerObjects'>;

interface PartStates {
  /** What agent hosts and aggregators say of themselves, by service and host. */
  readonly states: ReadonlyMap<string, PartState>;
  /** Parts that ended after a fault, as aggregators know. */
  readonly failed: readonly FailedInstance[];
}

export async function partStates(broker: Broker): Promise<PartStates> {
  const [hosts, aggregators] = await Promise.all([
    askEvery(broker, 'agents', 'list', { limit: 0 }),
    askEvery(broker, 'aggregator', 'list'),
  ]);
  const states = new Map<string, PartState>();
  for (const [host, { paused, newerObjects }] of hosts.answers)
    states.set(keyOf(services.agents, host), {
      paused,
      ...(newerObjects > 0 ? { newerObjects } : {}),
    });
  const failures = new Map<string, FailedInstance>();
  for (const [host, { paused, failed = [] }] of aggregators.answers) {
    states.set(keyOf(services.aggregator, host), { paused });
    for (const each of failed) failures.set(keyOf(each.service, each.host), each);
  }
  return { states, failed: [...failures.values()] };
}

/** Reports parts that ended after a fault and of which no instance answers. */
function warnFailed(failed: readonly FailedInstance[]): void {
  for (const { service, host, failure, age } of failed)
    reportProblem(
      `${plainText(service)} on ${plainText(host)} failed ${span(age)} ago: ${plainText(failure)}`,
      'its log there shows the fault; its supervisor starts it again',
    );
}

export function serviceLines(
  found: readonly ServiceInstance[],
  states: ReadonlyMap<string, PartState>,
): ServiceLine[] {
  return found
    .map(({ name, metadata, version }) => ({
      service: name,
      host: metadata.host ?? '?',
      version,
      ...(metadata.engine === undefined ? {} : { engine: metadata.engine }),
      ...(states.get(keyOf(name, metadata.host ?? '?')) ?? { paused: false }),
    }))
    .sort((a, b) => a.service.localeCompare(b.service) || a.host.localeCompare(b.host));
}

/** A host's instance is not missing if a later one of the same service answered. */
export function missingServices(
  expected: ExpectedInstances,
  found: readonly ServiceInstance[],
): { service: string; host: string }[] {
  const key = (service: string, host: string | undefined): string => `${service} ${host}`;
  const answered = new Set(found.map(({ name, metadata }) => key(name, metadata?.host)));
  const missing = new Map<string, { service: string; host: string }>();
  // Of one that crashes again and again several instances may be expected.
  for (const { service, host } of expected)
    if (!answered.has(key(service, host))) missing.set(key(service, host), { service, host });
  return [...missing.values()];
}

/** Names the parts, hooks apart, of which no instance answers; empty: none is absent. */
export function absentText(lines: readonly Pick<ServiceLine, 'service'>[]): string {
  const answers = new Set(lines.map(({ service }) => service));
  const absent = [
    ...(answers.has(services.agents) ? [] : ['no agent host answers: no targets are decided']),
    ...(answers.has(services.aggregator) ? [] : ['no aggregator answers: agents have no prices']),
  ];
  return absent.join('\n');
}

/** For each agent host after a rollback, a line; empty: none has newer objects. */
export const newerText = (lines: readonly ServiceLine[]): string =>
  lines
    .flatMap(({ host, newerObjects }) =>
      newerObjects === undefined
        ? []
        : `${plainText(host)}: ${count(newerObjects)} stored objects of a newer Gleaner: ` +
          'they stay, it reads and writes its own beside them (docs/upgrade.md)',
    )
    .join('\n');

const lostTapsOf = ({ tap }: HostView) => tap.filter(({ state }) => state !== 'listening');

function problemsOf(host: HostView): string[] {
  const problems = [...killReasonLines(host), ...lostTapsOf(host).map(tapText)];
  const modes = modesText(host);
  if (modes !== '') problems.push(modes);
  if (host.audit.cause !== null) problems.push(auditText(host.audit));
  if (host.configRejected) problems.push(host.configRejected);
  return problems;
}

/** For each hook, a line per interface without the tap, and one per other problem. */
export function problemLines(hosts: readonly { readonly host: HostView }[]): string {
  return hosts
    .flatMap(({ host }) =>
      problemsOf(host).map((problem) => `${plainText(host.host)}: ${plainText(problem)}\n`),
    )
    .join('');
}

function hostTable(hosts: readonly HookAnswer[]): string {
  return table(hosts, [
    left('host', ({ host }) => host.host),
    left('mode', ({ host }) =>
      host.killed ? `stopped (kill switch: ${host.killedBy.join(', ')})` : host.mode,
    ),
    left('tap', ({ host }) => (lostTapsOf(host).length > 0 ? 'lost' : 'ok')),
    right('cores', ({ host }) => cores(host.cpu)),
    right('memory MiB', ({ host }) => mebibytesText(host.memory)),
    right('pool cores', ({ host }) => cores(host.poolCpu)),
    right('pool MiB', ({ host }) => mebibytesText(host.poolMemory)),
    right('activations', ({ host }) => count(host.activations)),
    right('running', ({ host }) => count(host.running)),
  ]);
}

export function addCommands(program: Command): void {
  const command = program
    .command('status')
    .description('show the running parts, and the capacity of each invoker host');
  addOutputOption(command).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const { seen, shared, missing, hooks, unread, states, failed } = await withBroker(
      config,
      async (broker) => {
        const expected = await expectedInstances(broker);
        const [found, { hooks, unread }, { states, failed: ended }] = await Promise.all([
          findServices(broker, null, millis(300), 'STATS', expected),
          // All functions, once: the verdict names those that gained and slowed most.
          inspectHooks(broker, { expected }),
          partStates(broker),
        ]);
        const seen = found.filter(({ name }) => name.startsWith('gleaner-'));
        const shared = sharedNames(seen).filter(({ service }) => service !== services.aggregator);
        const answering = new Set(
          seen.map(({ name, metadata }) => keyOf(name, metadata.host ?? '?')),
        );
        const failed = ended.filter(({ service, host }) => !answering.has(keyOf(service, host)));
        const missing = missingServices(expected, seen);
        return { seen, shared, missing, hooks, unread, states, failed };
      },
    );
    const lines = serviceLines(seen, states);
    const stores = storesOf(seen);
    const refused = refusedOf(seen);
    if (options.output === 'json') {
      processScreen.write(
        json({
          services: lines,
          missing,
          failed,
          hosts: hooks.map((hook) => hook.raw),
          stores,
          refused,
        }),
      );
    } else {
      processScreen.write(
        table(lines, [
          left('service', (row) => row.service),
          left('host', (row) => row.host),
          left('version', (row) => row.version),
          left('engine', (row) => row.engine ?? ''),
          ...(lines.some(({ paused }) => paused)
            ? [left<ServiceLine>('state', (row) => (row.paused ? 'paused' : ''))]
            : []),
        ]),
      );
      processScreen.write(`\n${hostTable(hooks)}${problemLines(hooks)}${refusedLines(refused)}`);
      const failing = failingStores(stores);
      if (failing !== '') processScreen.write(`\n${failing}`);
      // Manager `fixed`, the default, needs neither part.
      const absent = config.agents.manager === 'fixed' ? '' : absentText(lines);
      for (const text of [absent, newerText(lines)])
        if (text !== '') processScreen.write(`\n${text}\n`);
      const verdict = verdictLines(
        hooks.map(({ host }) => host),
        hooks.flatMap(({ functions }) => functions),
      );
      if (verdict.length > 0) processScreen.write(`\n${verdict.join('\n')}\n`);
    }
    for (const { service, host, instances } of shared)
      reportProblem(
        `${instances} instances of ${plainText(service)} are called ${plainText(host)}`,
        'give each another name (hook.hostName, agents.hostName): one answers for all',
      );
    warnMissing(missing);
    warnFailed(failed);
    warnUnreadable(unread);
    if (hooks.length + unread.length === 0) reportNoAnswer('hook');
    process.exitCode = hooks.length > 0 && shared.length === 0 ? EXIT.ok : EXIT.failed;
  });
}
