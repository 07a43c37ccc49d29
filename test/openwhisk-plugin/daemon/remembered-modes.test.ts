import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type Broker, buckets, type KeyValue, services } from '../../../broker/index.js';
import { encodeMessage, MODE_GLOBAL, modeKey } from '../../../broker/messages/index.js';
import { changeMode, type ModeChange } from '../../../broker/mode-switch.js';
import { callService } from '../../../broker/services/index.js';
import { type Config, type Mode, millis } from '../../../config/index.js';
import { RememberedModes } from '../../../openwhisk-plugin/daemon/remembered-modes.js';
import { until } from '../../support/gleaner.js';
import { ManualTime } from '../../support/manual-time.js';
import { settle } from '../../support/settle.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { HookRig } from './hook-rig.js';

const HELLO = '/guest/hello';
const ME = { author: 'me', reason: 'incident' };

const failing = (what: string, error: unknown): never => {
  throw new Error(`${what}: ${error}`);
};

const rigOn = (folder: string, configure?: (config: Config) => void): HookRig =>
  new HookRig((config) => {
    Object.assign(config.hook, { stateDir: folder });
    configure?.(config);
  });

/** A hook on the state folder of an earlier one, whose NATS is away and has this global value. */
async function startAway(
  folder: string,
  stored?: ModeChange,
  configure?: (config: Config) => void,
): Promise<HookRig> {
  const rig = rigOn(folder, configure);
  if (stored !== undefined) await changeMode(rig.other, null, stored, ME);
  rig.bus.takeDown();
  return rig.start();
}

/** A state folder with these values of the last run. */
function folderWith(values: Readonly<Record<string, object>>): string {
  const folder = temporaryFolder('modes');
  const author = { v: 1, ...ME };
  const full = Object.entries(values).map(([key, value]) => [key, { ...author, ...value }]);
  writeFileSync(join(folder, 'modes.json'), JSON.stringify(Object.fromEntries(full)));
  return folder;
}

/** A hook that is connected, while the bucket of modes, which is empty, is read at `ready`. */
async function startUnread(
  folder: string,
  ready: Promise<void>,
  configure?: (config: Config) => void,
): Promise<HookRig> {
  const rig = rigOn(folder, configure);
  const broker = rig.broker;
  const bucket = { watch: () => ({ ready, stop: () => undefined }) } as unknown as KeyValue;
  const unread = new Proxy(broker, {
    get: (_, name) => {
      if (name === 'keyValue')
        return (key: string) => (key === buckets.mode ? bucket : broker.keyValue(key));
      const member: unknown = Reflect.get(broker, name, broker);
      return typeof member === 'function' ? member.bind(broker) : member;
    },
  });
  return rig.start(unread as Broker);
}

const ask = (rig: HookRig, endpoint: 'pause' | 'mode', request: object) =>
  callService(rig.other, {
    service: services.hook,
    endpoint,
    request: { function: HELLO, ...ME, ...request } as never,
    host: 'host-a',
  });

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

test('until NATS was read, modes of the last run only restrict the configuration', async (t) => {
  const folder = folderWith({ global: { mode: 'enforce' }, [modeKey(HELLO)]: { mode: 'enforce' } });
  const rig = await startAway(folder, { mode: 'enforce' }, (config) =>
    Object.assign(config, { mode: 'recommend' }),
  );
  const modes = () => {
    const { host, functions } = rig.hook.inspect();
    return [host.mode, functions.find((each) => each.name === HELLO)?.mode];
  };
  t.is(quota(rig), 1000);
  t.deepEqual(modes(), ['recommend', 'recommend']);
  rig.bus.bringUp();
  await settle();
  t.deepEqual(modes(), ['enforce', 'enforce']);
  t.true(quota(rig) < 1000);
  await rig.hook.stop();
});

test('so does that of a function what is configured for it, until a mode is set', async (t) => {
  const folder = folderWith({ [modeKey(HELLO)]: { mode: 'enforce' } });
  const rig = await startUnread(folder, new Promise(() => undefined), (config) =>
    Object.assign(config.functions, { overrides: [{ match: HELLO, mode: 'observe' }] }),
  );
  t.is(quota(rig), 1000);
  await ask(rig, 'mode', { mode: 'enforce' });
  t.true(quota(rig) < 1000);
  await rig.hook.stop();
});

test('the first read undoes only what the missing value had set', async (t) => {
  const folder = folderWith({ global: { kill: true }, [modeKey(HELLO)]: { mode: 'observe' } });
  let read = (): void => undefined;
  const rig = await startUnread(folder, new Promise((resolve) => (read = resolve)));
  t.deepEqual(killedBy(rig), ['kv']);
  await ask(rig, 'pause', {});
  read();
  await settle();
  t.deepEqual(killedBy(rig), []);
  t.is(quota(rig), 1000, 'the pause that was not stored stays');
  await rig.hook.stop();
  t.is(readFileSync(join(folder, 'modes.json'), 'utf8'), '{}');
});

test('a mode that NATS confirms is one change in the audit log', async (t) => {
  const changes = async (configured: Mode) => {
    const folder = folderWith({
      global: { mode: 'recommend' },
      [modeKey(HELLO)]: { mode: 'observe' },
    });
    const configure = (config: Config) => Object.assign(config, { mode: configured });
    const rig = rigOn(folder, configure);
    await changeMode(rig.other, null, { mode: 'recommend' }, ME);
    await changeMode(rig.other, HELLO, { mode: 'observe' }, ME);
    rig.bus.takeDown();
    await rig.start();
    rig.bus.bringUp();
    await settle();
    await rig.hook.stop();
    const lines = rig.auditLines().filter(({ resource }) => resource === 'mode');
    return lines.map(({ action = '', mode }) => [action, mode]);
  };
  const once = [
    ['', 'recommend'],
    [HELLO, 'observe'],
  ];
  t.deepEqual(await changes('enforce'), once);
  // Until then the stricter configuration counts.
  t.deepEqual(await changes('observe'), [
    ['', 'observe'],
    [HELLO, 'observe'],
    ['', 'recommend'],
  ]);
});

test('a first read that fails is in the log', async (t) => {
  let fail = (_cause: Error): void => undefined;
  const rig = await startUnread(
    folderWith({ global: { kill: true } }),
    new Promise((_, reject) => (fail = reject)),
  );
  fail(new Error('no'));
  await settle();
  t.deepEqual(killedBy(rig), ['kv']);
  t.true(rig.lines.some(({ message }) => message.startsWith('cannot read the stored modes')));
  await rig.hook.stop();
});

test('a hook that is no longer to use NATS names the holds that are not in force', async (t) => {
  const warnings = async (values: Readonly<Record<string, object>>) => {
    const folder = folderWith(values);
    const rig = await rigOn(folder).start(null);
    t.deepEqual(killedBy(rig), []);
    await rig.hook.stop();
    return rig.lines.filter(({ message }) => message.endsWith('to end this warning'));
  };
  const [warning] = await warnings({ global: { kill: true }, [modeKey(HELLO)]: { paused: true } });
  t.like(warning, { level: 'warn', fields: { keys: [MODE_GLOBAL, modeKey(HELLO)], count: 2 } });
  t.deepEqual(await warnings({ global: { mode: 'observe' } }), []);
});

for (const [what, text] of [
  ['cut', '{"global":{"v":1,"kill":fal'],
  ['empty', ''],
  ['of another kind', '[]'],
  ['with a wrong value', '{"global":{"v":1,"kill":"no","author":"me"}}'],
  ['with a wrong value of an unknown key', '{"functoin.a":{"v":1,"paused":"no"}}'],
  ['too deep', `{"global":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
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

test('a wrong value of a function pauses that function until NATS was read', async (t) => {
  const rig = await startAway(folderWith({ [modeKey(HELLO)]: { paused: 'no' } }));
  t.deepEqual(killedBy(rig), []);
  t.is(rig.hook.figures().host.unreadableModes, 1);
  t.is(quota(rig), 1000);
  const other = rig.container({ quota: 1000, name: 'wsk0_9_guest_other' });
  other.call(400, 200, { action: '/guest/other' });
  other.run({ action: '/guest/other' });
  t.true(other.cgroup.inForce.quota < 1000);
  rig.bus.bringUp();
  await settle();
  t.true(quota(rig) < 1000);
  t.is(rig.hook.figures().host.unreadableModes, 0);
  await rig.hook.stop();
});

for (const [what, make] of [
  ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
  ['a link', (path: string) => symlinkSync('/dev/zero', path)],
] as const)
  test(`${what} in place of the file holds the kill switch, and is replaced`, async (t) => {
    const path = join(temporaryFolder('modes'), 'modes.json');
    make(path);
    const problems: string[] = [];
    const modes = new RememberedModes(path, new ManualTime(), (what) => problems.push(what));
    t.deepEqual(modes.holding(), [MODE_GLOBAL]);
    modes.set(MODE_GLOBAL, undefined);
    await modes.stop();
    t.deepEqual(problems, ['read']);
    t.is(readFileSync(path, 'utf8'), '{}');
  });

test('a file that cannot be written is reported, and tried again', async (t) => {
  const path = join(temporaryFolder('modes'), 'none', 'modes.json');
  const problems: string[] = [];
  const time = new ManualTime();
  const modes = new RememberedModes(path, time, (what) => problems.push(what));
  const kept = () => new RememberedModes(path, time, failing).holding();
  modes.set('function.a', null);
  await until(() => problems.length === 1, 10_000, 'a failed write');
  mkdirSync(join(path, '..'));
  time.advance(millis(30_000));
  await until(() => kept().length === 1, 10_000, 'the file');
  t.deepEqual(kept(), ['function.a']);
  t.deepEqual(problems, ['write']);
  await modes.stop();
});

test('a stop writes what could not be written, and tries no more', async (t) => {
  const path = join(temporaryFolder('modes'), 'none', 'modes.json');
  const problems: string[] = [];
  const time = new ManualTime();
  const modes = new RememberedModes(path, time, (what) => problems.push(what));
  modes.set('function.a', null);
  await modes.stop();
  t.deepEqual(problems, ['write', 'write']);
  mkdirSync(join(path, '..'));
  time.advance(millis(60_000));
  await settle();
  t.deepEqual(new RememberedModes(path, time, failing).holding(), []);
  await modes.stop();
  t.deepEqual(new RememberedModes(path, time, failing).holding(), ['function.a']);
});
