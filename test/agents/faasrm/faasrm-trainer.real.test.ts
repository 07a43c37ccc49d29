import test from 'ava';
import type { RunningFaasrmTrainer } from '../../../agents/faasrm/faasrm-trainer.js';
import {
  type FaasrmSettings,
  faasrmSettings,
  faasrmWeights,
  runFaasrmTrainer,
  shippedFaasrm,
} from '../../../agents/faasrm/index.js';
import { defaultEngine, PolicyStore } from '../../../agents/nn/index.js';
import { InlineTrainer } from '../../../agents/ppo/index.js';
import { buckets, objectStores } from '../../../broker/index.js';
import {
  decodePolicyParameters,
  type PolicyParameters,
  policyKey,
} from '../../../broker/messages/index.js';
import { systemClock, systemTimers } from '../../../config/index.js';
import { until } from '../../broker/contract/harness.js';
import { natsServerHere, RealServer } from '../../broker/contract/server.js';
import { HookRig } from '../../openwhisk-plugin/daemon/hook-rig.js';

if (natsServerHere()) {
  test('over nats-server experiences train weights, and a new owner continues', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const rig = new HookRig((config) => {
      Object.assign(config.decision.policy, { quota: 'faasrm' });
      Object.assign(config.decision, { controlShare: 0.3 });
    });
    await rig.start(await server.connect('hook'));
    const running: RunningFaasrmTrainer[] = [];
    t.teardown(async () => {
      rig.hook.stop();
      for (const each of running) await each.stop();
    });
    const settings: FaasrmSettings = {
      ...faasrmSettings,
      rollout: 8,
      ppo: { ...faasrmSettings.ppo, miniBatch: 4 },
    };
    const silent = () => undefined;
    const start = async (host: string, learns: boolean): Promise<RunningFaasrmTrainer> => {
      const faasrmTrainer = runFaasrmTrainer({
        broker: await server.connect(host),
        clock: systemClock,
        timers: systemTimers,
        host,
        boot: `boot-${host}`,
        trainer: new InlineTrainer(defaultEngine(silent)),
        settings,
        seed: 1,
        learns,
        logger: { debug: silent, info: silent, warn: silent, error: silent },
      });
      running.push(faasrmTrainer);
      return faasrmTrainer;
    };
    const other = await server.connect('other');
    const published = async (): Promise<PolicyParameters | null> => {
      const entry = await other.keyValue(buckets.policy).get(policyKey('faasrm', null));
      const decoded = entry?.value ? decodePolicyParameters(entry.value) : null;
      return decoded?.ok ? decoded.message : null;
    };
    const source = (): string | undefined =>
      (rig.hook.inspect().policies[0] as { readonly source?: string } | undefined)?.source;

    const first = await start('agents-1', true);
    const begun = shippedFaasrm('cluster')!.counters.updates;
    await until(
      () => source() === `agents-1 update ${begun}`,
      'the hook has the weights of the product',
    );
    const container = rig.container({ quota: 1000 });
    await until(() => {
      container.call(400, 120);
      rig.advance(200);
      return first.version > begun;
    }, 'an update by what the hook tells');
    // Experiences that arrive while it stops make no new version.
    const { version } = first;
    await first.stop();
    await until(() => source() === `agents-1 update ${version}`, 'the hook has what was learned');
    const learned = (await published())!;
    t.like(learned.parameters, { version, explore: true });
    t.notDeepEqual(learned.weights, faasrmWeights(shippedFaasrm('cluster')!));
    // Neither the trainer nor its stop waits for the store.
    const store = new PolicyStore(other.objects(objectStores.policies));
    let kept = begun;
    for (let looks = 0; kept < version && looks < 1000; looks++)
      kept = (await store.load('faasrm'))?.counters.updates ?? begun;
    t.is(kept, version);

    const second = await start('agents-2', false);
    await until(() => second.owner, 'the lease has been given back');
    await until(
      () => source()?.startsWith('agents-2 ') === true,
      'the hook hears of the next owner',
    );
    const served = (await published())!;
    t.deepEqual(served.weights, learned.weights);
    t.like(served.parameters, { version, explore: false });
  });
}
