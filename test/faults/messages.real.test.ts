import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { connect } from 'nats';
import { services, subjects, wildcards } from '../../broker/index.js';
import { decodeObservation, type Observation } from '../../broker/messages/index.js';
import { callService } from '../../broker/services/index.js';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { missing, realParts } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';
import { badTargets, type Forgery, forgedSenders, targetFor } from './forged-targets.js';
import { natsOutage } from './outage.js';
import { Rig } from './rig.js';
import { STALE_SLACK } from './rounds.js';

const STALE = 4000;
/** Each is sent so often: counted each time, and told once. */
const TIMES = 5;
/**
 * Millicores of the target that is taken: above what the safeguard makes of a few calls' start-up
 * (445 once), below the user's 1000.
 */
const HELD = 600;

const count = (forgeries: readonly Forgery[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { kind } of forgeries) counts[kind] = (counts[kind] ?? 0) + TIMES;
  return counts;
};

test.serial(
  'targets that make no sense change no limit; each kind is counted, and told once',
  async (t) => {
    if (missing(t, realParts)) return;
    t.timeout(allowed(120_000));
    const rig = new Rig({
      prefix: 'wskglfn',
      image: await ensureActionImage(),
      staleMillis: STALE,
      functions: 1,
    });
    t.teardown(() => rig.stop());
    await rig.start();
    const [fn] = rig.names as [string];
    const { servers } = JSON.parse(
      readFileSync(join(rig.gleaner.folder, 'state', 'up.json'), 'utf8'),
    );
    const forger = await connect({ servers });
    let newest: Observation | null = null;
    const following = forger.subscribe(wildcards.observations, {
      callback: (_, message) => {
        const decoded = decodeObservation(message.data);
        if (decoded.ok) newest = decoded.message;
      },
    });
    const send = async (forgeries: readonly Forgery[]): Promise<void> => {
      for (let i = 0; i < TIMES; i++) {
        for (const { text } of forgeries)
          forger.publish(subjects.target(fn), new TextEncoder().encode(text));
      }
      await forger.flush();
    };
    const observed = async (): Promise<Observation> => {
      newest = null;
      const batch = await rig.batch();
      t.true(batch.every(({ ok }) => ok));
      while (newest === null) await new Promise((resolve) => setTimeout(resolve, 20));
      return newest;
    };

    // The real agents rest, so that every target is ours.
    await callService(rig.broker, { service: services.agents, endpoint: 'pause' });
    await new Promise((resolve) => setTimeout(resolve, STALE));
    const before = (await rig.inspect()).targets;
    const bad = badTargets(await observed(), STALE);
    await send(bad);
    const first = rig.lowestQuota(rig.batch());
    await send(bad);
    const { result, most } = await first;
    t.true(result.every(({ ok }) => ok));
    t.is(most, 0, 'no target that was taken: user limits');

    const held = targetFor(await observed(), HELD, 2_000_000, 7);
    forger.publish(subjects.target(fn), new TextEncoder().encode(JSON.stringify(held)));
    await forger.flush();
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.is((await rig.inspect()).targets.accepted, before.accepted + 1);
    const others = forgedSenders(held);
    await send(others);
    const second = rig.lowestQuota(rig.batch());
    await new Promise((resolve) => setTimeout(resolve, 300));
    await send(others);
    // In force is the one that was taken and none of those that wanted 150 in its place; where a
    // busy machine made the calls need more than it, what the safeguard has seen them need is
    // higher.
    const quotas = rig.containers
      .map((container) => container.quota())
      .filter((quota) => quota < 1000);
    t.true(quotas.length > 0 && quotas.every((quota) => quota >= HELD), quotas.join(', '));
    t.true((await second).result.every(({ ok }) => ok));

    await new Promise((resolve) => setTimeout(resolve, 200));
    const { targets } = await rig.inspect();
    t.is(targets.accepted, before.accepted + 1);
    const expected = count([...bad, ...bad, ...others, ...others]);
    t.like(targets.refused, expected);
    for (const kind of Object.keys(expected)) {
      const logLines = rig
        .log('hook')
        .filter((line) => line.kind === kind && line.msg === 'target refused: user limits apply');
      t.is(logLines.length, 1, `log lines of ${kind}`);
    }
    following.unsubscribe();
    await forger.close();
  },
);

test.serial(
  'without NATS user limits apply once targets are stale, and no activation fails',
  async (t) => {
    if (missing(t, realParts)) return;
    t.timeout(allowed(120_000));
    const staleMillis = 2500;
    const rig = new Rig({
      prefix: 'wskglfo',
      image: await ensureActionImage(),
      staleMillis,
      functions: 2,
    });
    t.teardown(() => rig.stop());
    await rig.start();
    const outage = await natsOutage(rig, 6);
    t.log(JSON.stringify(outage));
    t.deepEqual(outage.failed, []);
    t.not(outage.userLimitsAfter, null);
    t.true(outage.loweredUntil <= staleMillis + STALE_SLACK);
    t.is(outage.loweredAfter, 0);
    t.is(outage.unavailableLogLines, 1);
  },
);
