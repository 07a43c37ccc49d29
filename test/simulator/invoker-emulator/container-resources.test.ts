import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { sharesOf } from '../../../rules/index.js';
import {
  containerName,
  cpuLimit,
} from '../../../simulator/invoker-emulator/container-resources.js';
import { runArguments } from '../../../simulator/invoker-emulator/docker-cli.js';

test('The quota is user-cpus over that number, five decimals, at least 0.01', (t) => {
  t.is(cpuLimit(null, 2048, 256), null);
  t.is(cpuLimit(2, 2048, 256), 0.25);
  // 1024 / 300 = 3: 1 / 3 = 0.33333 after rounding.
  t.is(cpuLimit(1, 1024, 300), 0.33333);
  t.is(cpuLimit(1, 102_400, 128), 0.01);
});

testProp(
  'A full invoker has at most 1024 shares and user-cpus, except for minimums',
  [fc.integer({ min: 128, max: 65_536 }), fc.integer({ min: 128, max: 2048 })],
  (t, user, memory) => {
    fc.pre(memory <= user);
    const fit = Math.floor(user / memory);
    t.true(sharesOf(memory, user) * fit <= Math.max(1024, 2 * fit));
    t.true(
      (cpuLimit(4, user, memory) as number) * fit <= Math.max(4 + fit * 5e-6, 0.01 * fit) + 1e-9,
    );
  },
);

test('Names drop what docker forbids, so two functions can share one', (t) => {
  t.is(containerName('wsk0', 5, 'guest', 'a_b-c'), 'wsk0_5_guest_a_bc');
  t.is(containerName('wsk0', 2, 'guest', 'with space'), 'wsk0_2_guest_withspace');
  t.is(containerName('wsk0', 1, 'prewarm', 'nodejs:20'), 'wsk0_1_prewarm_nodejs20');
});

test('The arguments of docker run are those seen on a real invoker, in their order', (t) => {
  const spec = {
    image: 'IMAGE',
    name: 'wsk0_1_guest_plain',
    memoryMb: 256,
    cpuShares: 128,
    cpus: null,
    network: 'bridge',
    apiHost: 'http://host',
  };
  // Observed with an OpenWhisk invoker.
  t.is(
    runArguments(spec).join(' '),
    'run -d --cpu-shares 128 --memory 256m --memory-swap 256m --network bridge -e ' +
      '__OW_API_HOST=http://host ' +
      '--name wsk0_1_guest_plain --pids-limit 1024 --cap-drop NET_RAW --cap-drop NET_ADMIN ' +
      '--ulimit nofile=1024:1024 ' +
      '--log-driver json-file IMAGE',
  );
  // Scala prints a whole double with its decimal.
  t.true(
    runArguments({ ...spec, cpus: 1 })
      .join(' ')
      .includes('--name wsk0_1_guest_plain --cpus 1.0 --pids-limit'),
  );
  t.true(
    runArguments({ ...spec, cpus: 0.25 })
      .join(' ')
      .includes('--cpus 0.25 '),
  );
});
