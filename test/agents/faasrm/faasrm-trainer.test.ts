import test from 'ava';
import type { FaasrmTrainerRun } from '../../../agents/faasrm/faasrm-trainer.js';
import {
  type FaasrmSettings,
  faasrmSettings,
  faasrmWeights,
  runFaasrmTrainer,
  shippedFaasrm,
} from '../../../agents/faasrm/index.js';
import { defaultEngine, PolicyStore } from '../../../agents/nn/index.js';
import { InlineTrainer } from '../../../agents/ppo/index.js';
import { buckets, objectStores, subjects } from '../../../broker/index.js';
import {
  decodePolicyParameters,
  encodeMessage,
  type PolicyParameters,
  policyKey,
} from '../../../broker/messages/index.js';
import { FEATURE_LAYOUT } from '../../../rules/index.js';
import { HookRig } from '../../openwhisk-plugin/daemon/hook-rig.js';
import { settle } from '../../support/settle.js';

const ROWS = 8;
const settings: FaasrmSettings = {
  ...faasrmSettings,
  rollout: ROWS,
  ppo: { ...faasrmSettings.ppo, miniBatch: 4 },
};
const trainer = new InlineTrainer(defaultEngine(() => undefined));

/** Time that leases are renewed in. */
async function pass(rig: HookRig, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    rig.advance(1000);
    await settle();
  }
}

function stage() {
  const rig = new HookRig((config) => {
    Object.assign(config.decision.policy, { quota: 'faasrm' });
    Object.assign(config.decision, { controlShare: 0.3 });
  });
  const log: { message: string; fields: object }[] = [];
  const note = (fields: object, message: string): void => void log.push({ message, fields });
  const logger = { debug: note, info: note, warn: note, error: note };
  const start = (host: string, changes: Partial<FaasrmTrainerRun> = {}) =>
    runFaasrmTrainer({
      broker: rig.bus.connect(),
      clock: rig.platform.time,
      timers: rig.platform.time,
      host,
      boot: `boot-${host}`,
      trainer,
      settings,
      seed: 1,
      learns: true,
      logger,
      ...changes,
    });
  const published = async (): Promise<PolicyParameters | null> => {
    const entry = await rig.other.keyValue(buckets.policy).get(policyKey('faasrm', null));
    const decoded = entry?.value ? decodePolicyParameters(entry.value) : null;
    return decoded?.ok ? decoded.message : null;
  };
  return { rig, log, start, published };
}

test('a hook’s experiences train the weights it receives, and a new owner continues', async (t) => {
  const { rig, log, start, published } = stage();
  await rig.start();
  t.teardown(() => rig.hook.stop());
  const first = start('agents-1');
  await settle();
  const shipped = shippedFaasrm('cluster')!;
  t.deepEqual(
    (await published())?.weights,
    faasrmWeights(shipped),
    'at first those of the product',
  );
  const begun = shipped.counters.updates;
  const container = rig.container({ quota: 1000 });
  for (let call = 0; call < 100 && first.version === begun; call++) {
    container.call(400, 120);
    rig.advance(200);
    await settle();
  }
  t.is(first.version, begun + 1);
  const learned = (await published())!;
  t.like(learned.parameters, { version: begun + 1, explore: true, layout: FEATURE_LAYOUT });
  t.notDeepEqual(learned.weights, faasrmWeights(shipped));
  t.true(log.some(({ message }) => message === 'faasrm has learned'));
  t.like(rig.hook.inspect().policies[0], {
    policy: 'faasrm',
    source: `agents-1 update ${begun + 1}`,
  });
  await first.stop();
  const second = start('agents-2', { learns: false });
  await settle();
  await pass(rig, 10);
  t.true(second.owner);
  const served = (await published())!;
  t.deepEqual(served.weights, learned.weights);
  t.like(served.parameters, { version: begun + 1, explore: false });
  await second.stop();
});

test('of two agent hosts one trains', async (t) => {
  const { rig, start } = stage();
  const one = start('agents-1');
  await settle();
  const other = start('agents-2');
  await settle();
  t.deepEqual([one.owner, other.owner], [true, false]);
  await one.stop();
  await pass(rig, 10);
  t.true(other.owner);
  await other.stop();
});

test('damaged or foreign experiences, and those of a serving host, are not used', async (t) => {
  const { rig, log, start } = stage();
  const experience = {
    function: '/guest/f',
    weights: shippedFaasrm('cluster')!.counters.updates,
    state: new Array<number>(9).fill(0),
    cpu: [0, 0.5],
    memory: [0],
    option: 1,
    logProbability: -0.7,
    share: 0.1,
    slowdown: 1,
  };
  let sequence = 0;
  const send = (changes: object, layout = FEATURE_LAYOUT, on = 'host-a'): void => {
    const batch = {
      v: 1,
      host: 'host-a',
      boot: 'boot-1',
      sequence: ++sequence,
      layout,
      experiences: [{ ...experience, ...changes }],
    };
    rig.other.publish(subjects.experiences(on), encodeMessage(batch));
  };
  const learner = start('agents-1');
  await settle();
  send({}, FEATURE_LAYOUT + 1);
  send({ state: [0] });
  send({ slowdown: -1 });
  send({ state: new Array<number>(9).fill(7) });
  await settle();
  t.true(log.some(({ message }) => message === 'experiences refused'));
  t.is(learner.experiences, 0);
  send({ option: 2 });
  await settle();
  t.deepEqual([learner.experiences, learner.refused], [0, 1], 'no such option');
  send({}, FEATURE_LAYOUT, 'host-b');
  await settle();
  t.is(learner.experiences, 0, 'for another host');
  send({});
  await settle();
  t.is(learner.experiences, 1);
  await learner.stop();
  const server = start('agents-1', { learns: false });
  await settle();
  await pass(rig, 10);
  t.true(server.owner);
  send({});
  await settle();
  t.is(server.experiences, 0);
  await server.stop();
});

test('an unusable checkpoint is reported, and the shipped weights are used', async (t) => {
  const { rig, log, start, published } = stage();
  await rig.other
    .objects(objectStores.policies)
    .put('faasrm', new TextEncoder().encode('no checkpoint'));
  const faasrmTrainer = start('agents-1');
  await settle();
  const unusable = 'cannot use the stored checkpoint of faasrm';
  t.true(log.some(({ message }) => message.startsWith(unusable)));
  t.deepEqual((await published())?.weights, faasrmWeights(shippedFaasrm('cluster')!));
  await t.throwsAsync(new PolicyStore(rig.other.objects(objectStores.policies)).load('faasrm'), {
    code: 'GLN_CHECKPOINT_FOREIGN',
  });
  await faasrmTrainer.stop();
});
