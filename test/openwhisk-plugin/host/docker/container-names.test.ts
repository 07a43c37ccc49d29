import test from 'ava';
import fc from 'fast-check';
import {
  invokerOf,
  managedByPrefix,
  roleOf,
} from '../../../../openwhisk-plugin/host/docker/container-names.js';
import { containerName } from '../../../../simulator/invoker-emulator/container-resources.js';

/** As ContainerFactory.containerNamePrefix in https://github.com/apache/openwhisk. */
const namePrefix = (instance: number, uniqueName: string): string =>
  `wsk${uniqueName}${instance}`.replace(/[^\p{L}\p{Nd}_.-]/gu, '');

/**
 * The emulator's `containerName` is OpenWhisk's ContainerProxy.containerName. Docker refuses a name
 * with other letters than ASCII's, so no such container exists.
 */
const uniqueName = fc.oneof(
  fc.constantFrom(
    '',
    'ath-90',
    'ip-10-0-0-1.ec2.internal',
    'host_a',
    '0',
    'a_1_b',
    'host:9',
    'a b',
    '..',
    '_1_',
  ),
  fc.string({ maxLength: 20, unit: fc.constantFrom(...'aZ09_.-: /') }),
);
const id = fc.nat(200);
const count = fc.nat(9999);
const asciiText = fc.string({ maxLength: 20, unit: 'grapheme-ascii' });

test('names as OpenWhisk makes them are managed, whatever the unique name of the invoker', (t) => {
  // wsk + unique name + number, as in https://github.com/apache/openwhisk ContainerFactory.scala.
  for (const name of [
    'wsk0_12_guest_hello',
    'wsk00_8_guest_hello',
    'wskath-90_8_guest_hello',
    'wskip-10-0-0-1.ec2.internal0_3_guest_hello',
    'wskhost_a0_3_guest_hello',
    'wskath-90_1_whisksystem_invokerHealthTestAction0',
    'wskhost_a0_3_prewarm_nodejs20',
    'wsk0_5_guest_',
  ])
    t.true(managedByPrefix('wsk')(name), name);
  for (const prefix of ['wskath-90', 'wskip-10-0-0-1.ec2.internal0', 'wskhost_a0', 'wskhost_a'])
    t.notThrows(() => managedByPrefix(prefix), prefix);
});

test('containers that are no action containers are not managed', (t) => {
  const all = managedByPrefix('wsk');
  for (const name of [
    'my-wsk1_5_x_y',
    'wsk_admin',
    'wsk0_pause_1',
    'wsk-db',
    'wsk0_1',
    'wskstack_db_1',
    'invoker0',
  ])
    t.false(all(name), name);
});

test('each invoker manages its own containers, and so does the prefix of all', (t) => {
  fc.assert(
    fc.property(
      uniqueName,
      id,
      count,
      asciiText,
      asciiText,
      (unique, number, n, namespace, action) => {
        const prefix = namePrefix(number, unique);
        const name = containerName(prefix, n, namespace, action);
        return managedByPrefix(prefix)(name) && managedByPrefix('wsk')(name);
      },
    ),
  );
  t.pass();
});

test('an invoker manages no container of another one', (t) => {
  fc.assert(
    fc.property(
      uniqueName,
      id,
      uniqueName,
      id,
      count,
      asciiText,
      asciiText,
      (u, i, v, j, n, namespace, action) => {
        const own = namePrefix(i, u);
        const theirs = namePrefix(j, v);
        // `wsk0` with a namespace `x1` and an invoker `wsk0_5_x1` make the same names: no rule
        // tells them apart.
        const isAmbiguous = theirs.startsWith(`${own}_`) && /^_\d+_/.test(theirs.slice(own.length));
        fc.pre(own !== theirs && !isAmbiguous);
        return !managedByPrefix(own)(containerName(theirs, n, namespace, action));
      },
    ),
  );
  const one = managedByPrefix('wskath-91');
  t.true(one('wskath-91_5_guest_a'));
  t.false(one('wskath-910_5_guest_a'));
  t.false(managedByPrefix('wskip-10.a0')('wskip-10xa0_5_guest_a'), 'a dot is a dot');
});

test('health and prewarmed containers are recognized under each unique name', (t) => {
  fc.assert(
    fc.property(uniqueName, id, count, (unique, number, n) => {
      const prefix = namePrefix(number, unique);
      return (
        roleOf(containerName(prefix, n, 'whisk.system', 'invokerHealthTestAction0')) === 'system' &&
        roleOf(containerName(prefix, n, 'prewarm', 'nodejs:20')) === 'prewarmed'
      );
    }),
  );
  t.is(roleOf('wsk0_1_guest_prewarm'), 'action');
  t.is(roleOf('wsk0_1_guest_whisksystem_x'), 'action');
});

test('prewarmed and health pods are recognized by names with dashes', (t) => {
  t.is(roleOf('wskow-invoker-00-12-prewarm-nodejs20', 'pod'), 'prewarmed');
  t.is(roleOf('wskow-invoker-00-3-whisksystem-invokerhealthtestaction0', 'pod'), 'system');
  t.is(roleOf('wskow-invoker-00-4-guest-prewarm', 'pod'), 'action');
});

test('two invokers of a host are told apart by their unique names', (t) => {
  t.is(invokerOf('wskhost_a0_3_guest_hello'), 'wskhost_a0');
  t.is(invokerOf('wskhost_b0_3_guest_hello'), 'wskhost_b0');
  fc.assert(
    fc.property(uniqueName, id, count, asciiText, (unique, number, n, action) => {
      const prefix = namePrefix(number, unique);
      fc.pre(!/\d_\d+(_|$)/.test(prefix));
      return invokerOf(containerName(prefix, n, 'guest', action)) === prefix;
    }),
  );
});
