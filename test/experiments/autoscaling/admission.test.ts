import test from 'ava';
import fc from 'fast-check';
import { admit } from '../../../experiments/autoscaling/rules.js';

const request = fc.record({
  cpu: fc.integer({ min: 128, max: 2048 }),
  memory: fc.constant(2 ** 29),
  containers: fc.integer({ min: 1, max: 20 }),
});

test('a scheduler admits whole containers, never more than fit or were requested', (t) => {
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 2048 * 8, max: 60_000 }),
      (requests, capacity) => {
        const admitted = admit(requests, capacity);
        const used = admitted.reduce((sum, { cpu, containers }) => sum + cpu * containers, 0);
        t.true(used <= capacity);
        admitted.forEach(({ cpu, containers }, i) => {
          t.is(cpu, requests[i]!.cpu);
          t.true(containers >= 1 && containers <= requests[i]!.containers);
          // Nothing that fits is refused.
          if (containers < requests[i]!.containers) t.true(used + cpu > capacity);
        });
      },
    ),
  );
});

test('a request that fits is admitted whole', (t) => {
  const requests = [
    { cpu: 1000, memory: 1, containers: 3 },
    { cpu: 500, memory: 1, containers: 2 },
  ];
  t.deepEqual(admit(requests, 4000), requests);
});

test('where cores are short, the function that has the least is next', (t) => {
  const of = (containers: number) => ({ cpu: 1000, memory: 1, containers });
  // Six cores: the small request is met, the large ones share what is left.
  t.deepEqual(
    admit([of(9), of(1), of(9)], 6000).map(({ containers }) => containers),
    [3, 1, 2],
  );
});
