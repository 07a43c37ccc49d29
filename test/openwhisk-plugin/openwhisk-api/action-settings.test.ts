import test from 'ava';
import { buckets, functionToken } from '../../../broker/index.js';
import { decodeActionSettings, encodeMessage } from '../../../broker/messages/index.js';
import { publishActionSettings } from '../../../openwhisk-plugin/openwhisk-api/action-settings.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { rig } from './rig.js';

test('the bucket follows annotations, and keeps other namespaces', async (t) => {
  const { fakeOpenWhisk, writer } = await rig(t, '2.0.0');
  fakeOpenWhisk.add(
    'guest/thumbs',
    {},
    { 'gleaner.slo': 750, 'gleaner.bounds': { memoryMiB: { min: 128 } } },
  );
  fakeOpenWhisk.add('guest/typo', {}, { 'gleaner.slow': 750 });
  fakeOpenWhisk.add('guest/plain');
  const broker = new MemoryBus().connect();
  const bucket = broker.keyValue(buckets.actions);
  const theirs = functionToken('/team/f');
  await bucket.put(theirs, encodeMessage({ v: 1, function: '/team/f', sloMs: 1 }));
  const publish = async () =>
    await publishActionSettings(broker, writer.namespaces, await writer.list(), []);
  const keyOf = async (name: string) => await bucket.get(functionToken(`/guest/${name}`));

  t.deepEqual([...(await publish())], [['/guest/typo', ['gleaner.slow']]]);
  t.deepEqual(
    (await bucket.keys()).sort(),
    [theirs, functionToken('/guest/thumbs'), functionToken('/guest/typo')].sort(),
  );
  const first = (await keyOf('thumbs'))!;
  const decoded = decodeActionSettings(first.value!);
  t.true(decoded.ok);
  t.like(decoded.ok && decoded.message, { sloMs: 750, bounds: { memoryMiB: { min: 128 } } });
  await publish();
  t.is((await keyOf('thumbs'))!.revision, first.revision);

  fakeOpenWhisk.add('guest/thumbs', {}, { 'gleaner.slo': 500 });
  fakeOpenWhisk.actions.delete('guest/typo');
  await publish();
  const after = decodeActionSettings((await keyOf('thumbs'))!.value!);
  t.like(after.ok && after.message, { sloMs: 500 });
  t.is(after.ok && after.message.bounds, undefined);
  t.is((await keyOf('typo'))?.value ?? null, null);
  t.not((await bucket.get(theirs))?.value ?? null, null);
  // Also if no action is left.
  fakeOpenWhisk.actions.clear();
  await publish();
  t.deepEqual(await bucket.keys(), [theirs]);
});
