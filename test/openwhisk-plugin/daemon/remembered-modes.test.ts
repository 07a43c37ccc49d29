import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { buckets } from '../../../broker/index.js';
import { encodeMessage, MODE_GLOBAL } from '../../../broker/messages/index.js';
import { changeMode, type ModeChange } from '../../../broker/mode-switch.js';
import { RememberedModes } from '../../../openwhisk-plugin/daemon/remembered-modes.js';
import { settle } from '../../support/settle.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { HookRig } from './hook-rig.js';

const HELLO = '/guest/hello';
const ME = { author: 'me', reason: 'incident' };

const failing = (what: string, error: unknown): never => {
  throw new Error(`${what}: ${error}`);
};

/** A hook on the state folder of an earlier one, whose NATS is away and has this global value. */
async function startAway(folder: string, stored?: ModeChange): Promise<HookRig> {
  const rig = new HookRig((config) => Object.assign(config.hook, { stateDir: folder }));
  if (stored !== undefined) await changeMode(rig.other, null, stored, ME);
  rig.bus.takeDown();
  return rig.start();
}

const killedBy = (rig: HookRig) => rig.hook.figures().host.killedBy;

/** Starts with a reduced quota once learned, unless user limits apply. */
function quota(rig: HookRig): number {
  const container = rig.container({ quota: 1000 });
  container.call(400, 200);
  return container.quotaOfCall();
}

test('the stored kill switch is in force in a hook that starts while NATS is away', async (t) => {
  const before = await new HookRig().start();
  await settle();
  await changeMode(before.other, null, { kill: true }, ME);
  await settle();
  t.deepEqual(killedBy(before), ['kv']);
  await before.hook.stop();
  // Released meanwhile.
  const rig = await startAway(before.folder, { kill: false, mode: 'enforce' });
  t.deepEqual(rig.hook.figures().host.killReasons, [{ source: 'kv', ...ME }]);
  t.is(quota(rig), 1000);
  t.true(rig.lines.some(({ message }) => message.startsWith('the stored modes of the last run')));
  rig.bus.bringUp();
  await settle();
  t.deepEqual(killedBy(rig), []);
  t.true(quota(rig) < 1000);
  await rig.hook.stop();
  const last = await startAway(before.folder);
  t.deepEqual(killedBy(last), [], 'the release is kept, too');
  await last.hook.stop();
});

test('so are the mode and a pause, until NATS has no such values', async (t) => {
  const before = await new HookRig().start();
  await changeMode(before.other, null, { mode: 'observe' }, ME);
  await changeMode(before.other, HELLO, { paused: true, mode: 'enforce' }, ME);
  await settle();
  await before.hook.stop();
  const rig = await startAway(before.folder);
  t.is(rig.hook.figures().host.mode, 'observe');
  t.is(quota(rig), 1000, 'its function is paused');
  rig.bus.bringUp();
  await settle();
  t.is(rig.hook.figures().host.mode, 'enforce');
  t.true(quota(rig) < 1000);
  await rig.hook.stop();
  t.is(readFileSync(join(before.folder, 'modes.json'), 'utf8'), '{}');
});

test('a value that cannot be read holds after a start without NATS, too', async (t) => {
  const before = await new HookRig().start();
  await before.other.keyValue(buckets.mode).put(MODE_GLOBAL, encodeMessage({ v: 1, kill: true }));
  await settle();
  await before.hook.stop();
  const rig = await startAway(before.folder);
  t.deepEqual(killedBy(rig), ['kv_unreadable']);
  await rig.hook.stop();
});

for (const [what, text] of [
  ['cut', '{"global":{"v":1,"kill":fal'],
  ['empty', ''],
  ['of another kind', '[]'],
  ['with a wrong value', '{"global":{"v":1,"kill":"no","author":"me"}}'],
] as const)
  test(`a file that is ${what} holds the kill switch until NATS was read`, async (t) => {
    const folder = temporaryFolder('modes');
    writeFileSync(join(folder, 'modes.json'), text);
    const rig = await startAway(folder);
    t.deepEqual(killedBy(rig), ['kv_unreadable']);
    t.is(rig.hook.figures().host.unreadableModes, 1);
    t.true(rig.lines.some(({ message }) => message.includes('cannot be read')));
    rig.bus.bringUp();
    await settle();
    t.deepEqual(killedBy(rig), []);
    await rig.hook.stop();
    t.is(readFileSync(join(folder, 'modes.json'), 'utf8'), '{}');
  });

test('a file that cannot be written is reported, and tried again', async (t) => {
  const path = join(temporaryFolder('modes'), 'none', 'modes.json');
  const problems: string[] = [];
  const modes = new RememberedModes(path, (what) => problems.push(what));
  modes.set('function.a', null);
  await modes.settled();
  t.deepEqual(problems, ['write']);
  mkdirSync(join(path, '..'));
  modes.set('function.b', null);
  await modes.settled();
  t.deepEqual(problems, ['write']);
  const keys = new RememberedModes(path, failing).entries().map(([key]) => key);
  t.deepEqual(keys, ['function.a', 'function.b']);
});
