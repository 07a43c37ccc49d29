import test from 'ava';
import {
  actuate,
  NOTHING_IN_FORCE,
  type Recommendation,
} from '../../../agents/managers/actuator.js';
import { recommendBoth, stored } from '../../../agents/managers/hpa-vpa.js';
import { HPA_VPA_DEFAULT, hpaVpaManager } from '../../../agents/managers/index.js';
import { VPA_DEFAULT } from '../../../agents/managers/vpa.js';
import type { Millis } from '../../../config/index.js';
import { amounts, observation } from '../../support/observations.js';
import { latencies, play } from './play.js';

const at = (ms: number): Millis => ms as Millis;
const exact = (target: number) => ({ lower: target, target, upper: target });
const user = { cpu: 1000, memory: 256 };
const says = (recommendation: Partial<Recommendation>): Recommendation => ({
  urgent: false,
  ...recommendation,
});

test('vertical first: the number of containers is computed for the size just recommended', (t) => {
  // 20 activations of 900 ms in 10 s at 100 millicores: 180 busy over 2 containers. At the user's
  // 1000 that is 9 % and means 1; at the recommended 127 it is 70.9 %: ceil(2 x .709 / .6) = 3.
  const seen = observation({ ...latencies(20, 900), used: amounts(100, 100) });
  const initial = hpaVpaManager(HPA_VPA_DEFAULT).initialState('/guest/hello').recommender;
  const { recommendation } = recommendBoth(initial, seen, HPA_VPA_DEFAULT, at(0));
  t.is(recommendation?.cpu?.target, 127);
  t.is(recommendation?.containers, 3);
});

test('the store keeps the newest of each member, until it expires', (t) => {
  const first = stored(null, { cpu: exact(500), containers: 3, urgent: true }, at(0), 100);
  const second = stored(first, { cpu: exact(600), urgent: false }, at(50), 100);
  t.like(second, { containers: 3, urgent: false, expires: 150, cpu: { target: 600 } });
  t.is(stored(second, null, at(149), 100), second);
  t.is(stored(second, null, at(150), 100), null);
  t.is(stored(null, null, at(0), 100), null);
  t.is(stored(second, { cpu: exact(1), urgent: false }, at(150), 100)!.containers, undefined);
});

test('the actuator is idempotent and pauses between two changes', (t) => {
  const act = (
    before: typeof NOTHING_IN_FORCE,
    cpu: number,
    containers: number,
    now: number,
    urgent = false,
  ) =>
    actuate(
      before,
      says({ cpu: exact(cpu), containers, urgent }),
      user,
      at(0),
      VPA_DEFAULT,
      at(now),
    );
  const first = act(NOTHING_IN_FORCE, 500, 3, 0);
  t.like(first.decision, { cpu: 500, memory: 256, containers: 3, actions: [0, -1, 0] });
  const again = act(first.inForce, 500, 3, 20_000);
  t.deepEqual(again.inForce, first.inForce, 'nothing changed, so no new pause begins');
  t.deepEqual(again.decision.actions, [0, 0, 0]);
  t.like(act(first.inForce, 600, 4, 9_999).decision, { cpu: 500, containers: 3 });
  t.like(act(first.inForce, 600, 4, 10_000).decision, {
    cpu: 600,
    containers: 4,
    actions: [1, 1, 0],
  });
  t.like(
    act(first.inForce, 600, 4, 9_999, true).decision,
    { cpu: 600, containers: 3 },
    'urgent sizes wait for nothing',
  );
});

test('the actuator holds small changes back', (t) => {
  const wide = says({ cpu: { lower: 100, target: 500, upper: 2000 } });
  t.is(actuate(NOTHING_IN_FORCE, wide, user, at(0), VPA_DEFAULT, at(299_999)).inForce.cpu, null);
  t.is(actuate(NOTHING_IN_FORCE, wide, user, at(0), VPA_DEFAULT, at(300_000)).inForce.cpu, 500);
});

test('number and size follow the load, and an OOM kill is answered at once', (t) => {
  const busy = { ...latencies(20, 900), used: amounts(100, 100), peak: amounts(500, 128) };
  const { decisions } = play(hpaVpaManager(HPA_VPA_DEFAULT), [
    { ...busy, now: 0 },
    { ...busy, now: 10_000 },
    { ...busy, now: 20_000, oomKills: 1 },
  ]);
  // The sizes' bounds are wide still (vpa.test.ts): the user's. The OOM kill at 256 MiB brings
  // memory as in vpa, and CPU along.
  t.like(decisions[0], { cpu: 1000, memory: 268435456, containers: 3 });
  t.like(decisions[1], { cpu: 1000, memory: 268435456, containers: 3 });
  t.like(decisions[2], {
    cpu: 127,
    memory: Math.ceil(((1e7 * (1.05 ** 22 - 1)) / 0.05) * 1.15),
    containers: 3,
  });
});
