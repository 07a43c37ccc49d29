import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { resolveAction } from '../../../simulator/invoker-emulator/action.js';
import type {
  Container,
  EndpointResult,
} from '../../../simulator/invoker-emulator/action-container.js';
import { ContainerPool } from '../../../simulator/invoker-emulator/container-pool.js';
import { ContainerHealthError } from '../../../simulator/invoker-emulator/errors.js';

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface World {
  /** Most calls in one container at once, over its concurrency. */
  worst: number;
  /** Most memory that the pool has given out at once, MB. */
  most: number;
  /** Calls whose container was removed under them. */
  cut: number;
  readonly alive: Set<string>;
}

/**
 * A container without an engine: answers after some turns of the event loop; `behave` decides what.
 */
function imagined(
  world: World,
  name: string,
  concurrency: number,
  behave: (path: string) => 'ok' | 'error' | 'gone' | 'init-fails',
): Container {
  let inside = 0;
  let gone = false;
  world.alive.add(name);
  return {
    name,
    async call(path, _json, options): Promise<EndpointResult> {
      const startedMs = performance.now();
      inside++;
      world.worst = Math.max(world.worst, inside / concurrency);
      const how = behave(path);
      for (let i = 0; i < 3; i++) await tick();
      inside--;
      if (how === 'gone') gone = true;
      if (!world.alive.has(name)) {
        // A container without a listener also ends its other activations.
        if (!gone) world.cut++;
        return { startedMs, durationMs: 1, answer: { kind: 'connection-error' } };
      }
      if (how === 'gone' && options.reschedule) throw new ContainerHealthError(name);
      const bad =
        (how === 'error' && path === '/run') || (how === 'init-fails' && path === '/init');
      return {
        startedMs,
        durationMs: 1,
        answer: { kind: 'response', status: bad ? 502 : 200, entity: '{}', truncatedFrom: null },
      };
    },
    suspend: tick,
    resume: tick,
    async destroy() {
      world.alive.delete(name);
      await tick();
    },
    async collectLogs() {
      await tick();
      return [];
    },
  };
}

const memoryOf = (pool: ContainerPool): number =>
  pool.containers.reduce((sum, { memoryMb }) => sum + memoryMb, 0);

testProp(
  'Every activation ends once, within concurrency and memory, and nothing is left',
  [
    fc.array(
      fc.record({
        name: fc.integer({ min: 0, max: 4 }),
        turns: fc.integer({ min: 0, max: 8 }),
        how: fc.constantFrom('ok', 'ok', 'ok', 'error', 'gone', 'init-fails') as fc.Arbitrary<
          'ok' | 'error' | 'gone' | 'init-fails'
        >,
      }),
      { maxLength: 40 },
    ),
    fc.integer({ min: 1, max: 3 }),
  ],
  async (t, activationMessages, concurrency) => {
    const world: World = { worst: 0, most: 0, cut: 0, alive: new Set() };
    let count = 0;
    let step = 0;
    const pool = new ContainerPool({
      userMemoryMb: 1024,
      times: { pauseGraceMs: 1, idleMs: 5 },
      create: async () => {
        world.most = Math.max(world.most, memoryOf(pool));
        await tick();
        return imagined(
          world,
          `c${++count}`,
          concurrency,
          () => activationMessages[step++ % activationMessages.length]?.how ?? 'ok',
        );
      },
    });
    const ends = new Map<number, number>();
    const all: Promise<void>[] = [];
    for (const [index, activationMessage] of activationMessages.entries()) {
      for (let i = 0; i < activationMessage.turns; i++) await tick();
      const action = resolveAction({
        namespace: 'n',
        name: `f${activationMessage.name}`,
        version: '0.0.1',
        code: '',
        memoryMb: [128, 128, 256, 256, 512][activationMessage.name]!,
        concurrency,
      });
      all.push(
        new Promise((resolve) => {
          pool.submit({
            action,
            payload: {},
            activationId: String(index),
            transactionId: '',
            acceptedMs: performance.now(),
            finish: () => {
              ends.set(index, (ends.get(index) ?? 0) + 1);
              resolve();
            },
          });
        }),
      );
    }
    await Promise.all(all);
    for (let i = 0; i < 20; i++) await tick();
    await pool.stop();
    for (let i = 0; i < 20; i++) await tick();
    t.is(ends.size, activationMessages.length);
    t.true([...ends.values()].every((times) => times === 1));
    t.true(world.worst <= 1);
    t.true(world.most <= 1024);
    t.is(world.cut, 0);
    t.deepEqual([...world.alive], []);
  },
  { numRuns: 60 },
);

test('While several containers make room, none of them is given a call that waited', async (t) => {
  const world: World = { worst: 0, most: 0, cut: 0, alive: new Set() };
  const pool = new ContainerPool({
    userMemoryMb: 512,
    times: { pauseGraceMs: 60_000, idleMs: 60_000 },
    create: async ({ name }) => {
      world.most = Math.max(world.most, memoryOf(pool));
      await tick();
      return imagined(world, name, 1, () => 'ok');
    },
  });
  t.teardown(() => pool.stop());
  const ended: string[] = [];
  const call = (name: string, memoryMb: number): Promise<void> =>
    new Promise((resolve) =>
      pool.submit({
        action: resolveAction({ namespace: 'n', name, version: '0.0.1', code: '', memoryMb }),
        payload: {},
        activationId: '',
        transactionId: '',
        acceptedMs: performance.now(),
        finish: ({ kind }) => {
          ended.push(`${name} ${kind}`);
          resolve();
        },
      }),
    );
  await call('idle', 128);
  await call('next', 128);
  await tick();
  // 128 MB idle, 128 MB at work, 256 MB free: `wide` has to wait for both, and behind it another
  // call of the one at work.
  const all = [call('next', 128), call('wide', 512), call('next', 128)];
  await Promise.all(all);
  t.deepEqual(ended, [
    'idle success',
    'next success',
    'next success',
    'wide success',
    'next success',
  ]);
  t.is(world.cut, 0);
  t.is(world.most, 512);
});

test('An invoker that stops refuses what waits and what comes later', async (t) => {
  const pool = new ContainerPool({
    userMemoryMb: 256,
    times: { pauseGraceMs: 10, idleMs: 10 },
    create: () => Promise.reject(new Error('no engine')),
  });
  const submit = (): Promise<string> =>
    new Promise((resolve) =>
      pool.submit({
        action: resolveAction({ namespace: 'n', name: 'f', version: '0.0.1', code: '' }),
        payload: {},
        activationId: '',
        transactionId: '',
        acceptedMs: performance.now(),
        finish: (result) => resolve(`${result.kind}: ${String(result.result)}`),
      }),
    );
  t.is(await submit(), 'whisk error: the container could not be started: no engine');
  await pool.stop();
  t.is(await submit(), 'whisk error: the invoker has stopped');
});
