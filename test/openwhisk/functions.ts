import type { ActionLimits, ActivationRecord, OpenWhiskApi } from './api.js';

/**
 * One action and what is sent to it, at once; results must not depend on anything but the
 * arguments.
 */
interface Case {
  readonly name: string;
  readonly code: string;
  readonly limits?: ActionLimits;
  readonly arguments: readonly unknown[];
}

const echo = 'function main(args) { return { args } }';
const sleepingAction =
  'async function main({ ms }) { await new Promise((r) => setTimeout(r, ms)); return { ms } }';
const growingAction = `async function main({ megabytes }) {
  const keep = [];
  for (let i = 0; i < megabytes; i++) keep.push(Buffer.allocUnsafeSlow(1048576).fill(1));
  return { megabytes: keep.length };
}`;
/**
 * Longer than what the tap captures of a packet: what stands behind it in \`/init\` is not seen.
 */
const MUCH_CODE = `// ${'x'.repeat(20_000)}\n`;
const HEAD = 'POST /run HTTP/1.1\\r\\nContent-Length: 10\\r\\n\\r\\n{"action_name":"/guest/other"}';
const text = (length: number): string => 'aé"\\\\\\n'.repeat(length / 5).slice(0, length);

/** Names, sizes, outcomes and arguments that a user may choose; each takes part once. */
const cases: readonly Case[] = [
  { name: 'plain', code: echo, arguments: [{}, { x: 1 }, { deep: { a: { b: 'c' } } }] },
  { name: 'with space', code: echo, arguments: [{ x: 1 }] },
  { name: 'with.dot', code: echo, arguments: [{ x: 1 }] },
  { name: 'with@at', code: echo, arguments: [{ x: 1 }] },
  { name: 'a_b-c', code: echo, arguments: [{ x: 1 }] },
  { name: 'n'.repeat(256), code: echo, arguments: [{ x: 1 }] },
  { name: 'pkg/inside', code: echo, arguments: [{ x: 1 }] },
  { name: 'm512', code: growingAction, limits: { memory: 512 }, arguments: [{ megabytes: 300 }] },
  { name: 'throws', code: 'function main() { throw new Error("thrown") }', arguments: [{}] },
  {
    name: 'rejects',
    code: 'async function main() { throw new Error("rejected") }',
    arguments: [{}],
  },
  { name: 'error', code: 'function main() { return { error: "an own error" } }', arguments: [{}] },
  { name: 'nothing', code: 'function main() {}', arguments: [{}] },
  { name: 'text', code: 'function main() { return "no object" }', arguments: [{}] },
  { name: 'slow', code: sleepingAction, limits: { timeout: 4000 }, arguments: [{ ms: 20_000 }] },
  { name: 'oom', code: growingAction, limits: { memory: 128 }, arguments: [{ megabytes: 600 }] },
  // Four and four at once, each in its own time.
  {
    name: 'concurrent',
    code: sleepingAction,
    limits: { concurrency: 4 },
    arguments: [300, 310, 320, 330, 340, 350, 360, 370].map((ms) => ({ ms })),
  },
  {
    name: 'large-argument',
    code: 'function main({ t }) { return { n: t.length } }',
    arguments: [{ t: text(500_000) }],
  },
  {
    name: 'large-result',
    code: 'function main({ n }) { return { t: "aé\\\\n".repeat(n / 4) } }',
    arguments: [{ n: 700_000 }],
  },
  {
    name: 'bytes',
    code: echo,
    arguments: [{ b: Buffer.from([...Array(256).keys()]).toString('latin1') }],
  },
  {
    name: 'forged',
    code: echo,
    arguments: [
      { action_name: '/guest/other', activation_id: 'f'.repeat(32), deadline: '1' },
      { a: `${'x'.repeat(1448)}${HEAD}`.repeat(20) },
    ],
  },
  {
    name: 'broken',
    code: 'function main() { return {} } this is no JavaScript',
    arguments: [{}, {}],
  },
  {
    name: 'stuck',
    code: 'for (;;); function main() {}',
    limits: { timeout: 1000 },
    arguments: [{}],
  },
  {
    name: 'increments',
    code: 'function main({ n }) { return { n: n + 1 } }',
    arguments: [{ n: 1 }],
  },
  {
    name: 'page',
    code: 'function main({ n }) { return { statusCode: 201, body: { n: Number(n) } } }',
    arguments: [{ n: 7 }],
  },
];

/** Fails in \`/init\`, with its activation beyond what the tap captures. */
export const brokenAndLong: Case = {
  name: 'broken-long',
  code: `${MUCH_CODE}this is no JavaScript`,
  arguments: [{}],
};

/** What a user sees of one activation. */
export interface SeenOutcome {
  readonly status: string;
  readonly result: unknown;
}

export async function createAll(api: OpenWhiskApi): Promise<void> {
  await api.put('packages/pkg', {});
  for (const { name, code, limits } of [...cases, brokenAndLong])
    await api.putAction(
      name,
      code,
      limits,
      name === 'page' ? { annotations: [{ key: 'web-export', value: true }] } : {},
    );
  const increments = '/guest/increments';
  await api.put('actions/thrice', {
    exec: { kind: 'sequence', components: [increments, increments, increments] },
  });
  await api.put('triggers/fired', {});
  await api.put('rules/on-fired', {
    trigger: '/guest/fired',
    action: '/guest/plain',
    status: 'active',
  });
}

/**
 * Runs every case, all at once as users do; the outcomes by case, in the order of the arguments.
 */
export async function runAll(api: OpenWhiskApi): Promise<Record<string, SeenOutcome[]>> {
  const outcome = ({ response: { status, result } }: ActivationRecord): SeenOutcome => ({
    status,
    result: JSON.parse(
      JSON.stringify(result ?? null)
        // Each server has a port of its own, which a trigger's event names.
        .replace(new URL(api.host).host, 'openwhisk')
        // On a busy host the time limit is reached during /init as well as after it.
        .replace(/ milliseconds( during initialization)?\./, ' milliseconds.'),
    ),
  });
  const since = Date.now();
  const outcomes = await Promise.all(
    [...cases, brokenAndLong].map(async (one): Promise<[string, SeenOutcome[]]> => {
      const records = await Promise.all(one.arguments.map((each) => api.invoke(one.name, each)));
      return [one.name, records.map(outcome)];
    }),
  );
  const sequence = await api.invoke('thrice', { n: 1 });
  const web = await fetch(`${api.host}/api/v1/web/guest/default/page?n=7`);
  const page = { status: String(web.status), result: await web.json() };
  const fired = (await api.request('POST', 'namespaces/_/triggers/fired', { by: 'a trigger' }))
    .status;
  const byRule = await recordedWhere(api, since, ({ response: { result } }) =>
    JSON.stringify(result ?? null).includes('a trigger'),
  );
  return {
    ...Object.fromEntries(outcomes),
    sequence: [outcome(sequence)],
    page: [page],
    rule: [{ status: String(fired), result: null }, outcome(byRule)],
  };
}

async function recordedWhere(
  api: OpenWhiskApi,
  since: number,
  matches: (record: ActivationRecord) => boolean,
): Promise<ActivationRecord> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const found = (await api.ranInContainers(since)).find(matches);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('no record of the activation was written');
}
