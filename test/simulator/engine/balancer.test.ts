import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { coprimeSteps, placementHash } from '../../../simulator/engine/balancer.js';
import { at, fn, play } from './scene.js';

test('steps are coprime to the hosts and to each other', (t) => {
  // Of 30 = 2 x 3 x 5: the primes that do not divide it, and 1.
  t.deepEqual(coprimeSteps(30), [1, 7, 11, 13, 17, 19, 23, 29]);
  t.deepEqual(coprimeSteps(1), [1]);
  // Of 10: 1, 3, 7; not 9 = 3 x 3.
  t.deepEqual(coprimeSteps(10), [1, 3, 7]);
});

test('the hash is Java’s, of namespace and full name', (t) => {
  // "a".hashCode() = 97; "a/b".hashCode() = 97 x 961 + 47 x 31 + 98 = 94,772. 97 = 0b1100001;
  // 94,772 ^ 97 = 94,805.
  t.is(placementHash('/a/b'), 94_772 ^ 97);
});

test('a function stays on its home host while memory lasts, then moves by its step', (t) => {
  // Three hosts with room for one container each: three activations at once go to three hosts, the
  // fourth waits.
  const { activations } = play({
    functions: [fn('a', at(0, 0, 0, 0))],
    cluster: { hosts: 3, userMemoryMiB: 128 },
  });
  const home = placementHash('/guest/a') % 3;
  t.is(activations[0]!.host, home);
  t.is(new Set(activations.slice(0, 3).map((activation) => activation.host)).size, 3);
  t.is(activations[3]!.endedAt, 200_000);
  // With room it stays: all four on its home host.
  const uncontended = play({ functions: [fn('a', at(0, 0, 0, 0))], cluster: { hosts: 3 } });
  t.true(uncontended.activations.every((activation) => activation.host === home));
});

testProp(
  'every host is asked once',
  [fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0 })],
  (t, hosts, hash) => {
    const steps = coprimeSteps(hosts);
    const step = steps[hash % steps.length]!;
    const asked = new Set<number>();
    for (let i = 0, host = hash % hosts; i < hosts; i++, host = (host + step) % hosts)
      asked.add(host);
    t.is(asked.size, hosts);
  },
);
