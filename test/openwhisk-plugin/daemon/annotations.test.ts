import test from 'ava';
import { buckets, functionToken, wildcards } from '../../../broker/index.js';
import {
  type ActionSettings,
  decodeObservation,
  encodeMessage,
  type Observation,
} from '../../../broker/messages/index.js';
import type { Config } from '../../../config/index.js';
import { mebibytes } from '../../../config/index.js';
import { settle } from '../../support/settle.js';
import { type FakeContainer, HookRig } from './hook-rig.js';

const HELLO = '/guest/hello';

async function annotated(change: (config: Config) => void = () => undefined) {
  const rig = new HookRig(change);
  await rig.start();
  const bucket = rig.other.keyValue(buckets.actions);
  const put = async (
    settings: Partial<ActionSettings> & Record<string, unknown>,
    key = HELLO,
  ): Promise<void> => {
    await bucket.put(functionToken(key), encodeMessage({ v: 1, function: HELLO, ...settings }));
    await settle();
  };
  const forget = async (): Promise<void> => {
    await bucket.delete(functionToken(HELLO));
    await settle();
  };
  const seen: Observation[] = [];
  rig.other.subscribe(wildcards.observations, ({ data }) => {
    const decoded = decodeObservation(data);
    if (decoded.ok) seen.push(decoded.message);
  });
  return { rig, put, forget, seen };
}

test('an annotation restricts the configured mode and never extends it', async (t) => {
  const { rig, put, forget } = await annotated();
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  t.true(container.quotaOfCall() < 1000);
  await put({ mode: 'recommend' });
  t.is(container.quotaOfCall(), 1000);
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'recommend' });
  await forget();
  t.true(container.quotaOfCall() < 1000);
  await rig.hook.stop();

  const watching = await annotated((config) => Object.assign(config, { mode: 'observe' }));
  watching.rig.container({ quota: 1000 }).call(4000, 200);
  await watching.put({ mode: 'enforce' });
  t.like(watching.rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'observe' });
  await watching.rig.hook.stop();
});

test('an unreadable annotation is named in the log, and user limits apply', async (t) => {
  const { rig, put } = await annotated();
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  await put({ unreadable: ['gleaner.mdoe'], mode: 'enforce' });
  t.is(container.quotaOfCall(), 1000);
  t.true(
    rig.lines.some(
      ({ level, fields }) => level === 'warn' && JSON.stringify(fields).includes('gleaner.mdoe'),
    ),
  );
  await rig.hook.stop();
});

test('annotations are reported if they change the mode of a function of this host', async (t) => {
  const { rig, put, forget } = await annotated();
  const told = () => {
    return rig.hook.inspect().events.mode ?? 0;
  };
  await put({ mode: 'recommend' });
  t.is(told(), 0, 'it has not run here');
  rig.container({ quota: 1000 }).call(400, 200);
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'recommend' });
  await put({ mode: 'recommend', sloMs: 250 });
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'recommend', slo: 250 });
  t.is(told(), 0, 'its mode is the same');
  await forget();
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'enforce' });
  t.is(told(), 1);
  await put({ unreadable: ['gleaner.mdoe'] });
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'observe' });
  t.is(told(), 2);
  await rig.hook.stop();
});

test('bounds of operator and owner are intersected; if empty, user limits apply', async (t) => {
  const bounds = { cpuMillicores: { min: 600 } };
  const { rig, put } = await annotated((config) =>
    Object.assign(config.functions, {
      overrides: [{ match: HELLO, bounds: { cpuMillicores: { min: 500 } } }],
    }),
  );
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  t.is(container.quotaOfCall(), 500);
  await put({ bounds });
  t.is(container.quotaOfCall(), 600);
  await put({ bounds: { cpuMillicores: { max: 400 } } });
  t.is(container.quotaOfCall(), 1000);
  await rig.hook.stop();
});

test('observations carry the annotated SLO and CPU unless configuration sets them', async (t) => {
  const { rig, put, seen } = await annotated();
  await put({ sloMs: 750, cpuMillicores: 300 });
  const container = rig.container();
  for (let i = 0; i < 20; i++) container.call(100, 100);
  rig.advance(100);
  await settle();
  t.like(seen.at(-1), { slo: 750, cpuMode: 'quota', user: { cpu: 300 } });
  await rig.hook.stop();

  const configured = await annotated((config) =>
    Object.assign(config.functions, { overrides: [{ match: HELLO, sloMs: 500 }] }),
  );
  await configured.put({ sloMs: 750, cpuMillicores: 1e6 });
  const other = configured.rig.container();
  for (let i = 0; i < 20; i++) other.call(100, 100);
  configured.rig.advance(100);
  await settle();
  // More than the host has is the host.
  t.like(configured.seen.at(-1), {
    slo: 500,
    user: { cpu: configured.rig.hook.inspect().host.cpu },
  });
  await configured.rig.hook.stop();
});

test('a right-sized action keeps its original weight, a resize by its owner not', async (t) => {
  const { rig, put } = await annotated((config) =>
    Object.assign(config.decision.policy, { weight: 'memory' }),
  );
  const sharesOf = (container: FakeContainer): number => {
    const connection = container.run();
    const { shares } = container.cgroup.inForce;
    container.answer(connection);
    return shares;
  };
  const container = rig.container({ memory: mebibytes(192), shares: 96 });
  t.is(sharesOf(container), 96);
  await put({ resized: { fromMiB: 512, toMiB: 192 } });
  // 512 of 2048 MiB had 256 shares.
  t.is(sharesOf(container), 256);
  await put({ resized: { fromMiB: 512, toMiB: 256 } });
  t.is(sharesOf(container), 96);
  await rig.hook.stop();
});

test('settings of another function, and what cannot be decoded, change nothing', async (t) => {
  const { rig, put } = await annotated();
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  const lowered = container.quotaOfCall();
  await put({ mode: 'observe', function: '/guest/other' });
  await put({ mode: 'never' as never });
  await put({ mode: 'observe' }, '/guest/other');
  t.is(container.quotaOfCall(), lowered);
  t.is(
    rig.lines.filter(({ message }) => message === 'action settings refused: the entry is not valid')
      .length >= 1,
    true,
  );
  await rig.hook.stop();
});
