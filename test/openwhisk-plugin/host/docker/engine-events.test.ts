import test from 'ava';
import fc from 'fast-check';
import {
  type Cancel,
  type Millis,
  millis,
  systemClock,
  type Timers,
} from '../../../../config/index.js';
import { DockerClient } from '../../../../openwhisk-plugin/host/docker/docker-client.js';
import { DockerEvents } from '../../../../openwhisk-plugin/host/docker/docker-events.js';
import { ManualTime } from '../../../support/manual-time.js';
import { scripted } from './scripted-engine.js';
import { json, stubEngine, VERSION } from './stub-engine.js';

const LATER = '2026-11-28T00:01:00Z';
const HUGE = 'x'.repeat(1_572_864);

const lineOf = (
  action: string,
  id: string,
  name: string,
  timeNano: number,
  labels: object = {},
): string => {
  const actor = { ID: id, Attributes: { name, ...labels } };
  return `${JSON.stringify({ Type: 'container', Action: action, Actor: actor, timeNano })}\n`;
};

test('an event of 1.5 MiB is skipped and counted, and the stream continues', async (t) => {
  // Labels of a container are part of each of its events; their size is not limited.
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  s.write(lineOf('create', 'f'.repeat(64), 'other', 1, { note: HUGE }));
  s.tell('container', 'pause', c.id, LATER, c.name);
  await s.recorder.until((r) => r.count(`paused ${c.name}`) === 1);
  t.deepEqual(s.recorder.skipped, ['huge']);
  t.is(s.stub.requests.filter(({ url }) => url.includes('/events')).length, 1);
  t.is(s.recorder.count('down GLN_ENGINE_ANSWER'), 0);
  await s.close();
});

test('a start event with huge labels is skipped, and a listing finds the container', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const c = s.add(1);
  s.write(lineOf('start', c.id, c.name, 1, { note: HUGE }));
  await s.recorder.until((r) => r.count(`started ${c.name}`) === 1);
  t.deepEqual(s.recorder.skipped, ['huge']);
  await s.close();
});

test('unreadable and unknown events are counted by kind, and others still count', async (t) => {
  const lines = fc.array(
    fc.oneof(
      fc.constantFrom(
        '{',
        'null',
        '[]',
        '{"Type":"container"}',
        '{"Type":1,"Action":2,"Actor":3}',
        '\u0000',
        '"text"',
      ),
      fc.constant('{"Type":"plugin","Action":"enable","Actor":{"ID":"p"}}'),
      fc.string({ maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, ' ')),
    ),
    { maxLength: 12 },
  );
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  let stamp = 0;
  await fc.assert(
    fc.asyncProperty(lines, fc.nat(400), async (broken, cut) => {
      const before = s.recorder.count(`oom ${c.name}`);
      const text = `${broken.join('\n')}\n${lineOf('oom', c.id, c.name, ++stamp)}`;
      s.write(text.slice(0, cut));
      s.write(text.slice(cut));
      await s.recorder.until((r) => r.count(`oom ${c.name}`) === before + 1);
    }),
    { numRuns: 40 },
  );
  s.write('{"Type":"plugin","Action":"enable","Actor":{"ID":"p"}}\n{\n');
  await s.recorder.until((r) => r.skipped.includes('unknown') && r.skipped.at(-1) === 'malformed');
  t.is(s.recorder.lines.filter((line) => line.startsWith('down')).length, 0);
  await s.close();
});

test('a bad inspect answer hides no other container and is not retried each time', async (t) => {
  const s = await scripted({ every: 30 });
  s.add(1).address = 7 as never;
  s.add(2);
  s.state.padding.set(s.add(3).id, 17 * 1024 * 1024);
  await s.engine.start(s.recorder);
  await s.recorder.until((r) => r.count('reconciled') >= 3);
  t.deepEqual(
    s.recorder.started.map(({ name }) => name),
    ['wsk0_2_guest_f'],
  );
  const { unreadable } = s.engine;
  t.true(unreadable >= 2);
  const seen = s.recorder.count('reconciled');
  await s.recorder.until((r) => r.count('reconciled') >= seen + 3);
  t.is(s.engine.unreadable, unreadable);
  t.is(s.recorder.lines.filter((line) => line.startsWith('down')).length, 0);
  await s.close();
});

test('an unreadable listing entry ends no container and hides no other', async (t) => {
  const s = await scripted({ every: 30 });
  const c = s.add(1);
  await s.engine.start(s.recorder);
  s.running.clear();
  s.state.oddEntries.push(null, { Id: 5 }, 'text');
  s.networks.push({ Id: 9 } as never);
  const seen = s.recorder.count('reconciled');
  await s.recorder.until((r) => r.count('reconciled') >= seen + 2);
  t.is(s.recorder.ended.length, 0, `${c.name} may run: the listing does not say`);
  t.deepEqual(
    s.recorder.bridges.map(({ interfaceName }) => interfaceName),
    ['docker0'],
  );
  s.state.oddEntries.length = 0;
  await s.recorder.until((r) => r.ended.length === 1);
  await s.close();
});

test('a listing too long to be read is asked for the managed names only', async (t) => {
  // The labels of all containers of the host are in it: with eleven of 1.5 MiB nothing was managed
  // any more.
  const s = await scripted();
  const c = s.add(1);
  s.state.oddEntries.push({
    Id: 'f'.repeat(64),
    Names: ['/other'],
    Labels: { note: 'x'.repeat(17 * 1024 * 1024) },
  });
  await s.engine.start(s.recorder);
  t.is(s.recorder.count(`started ${c.name}`), 1);
  t.true(
    s.stub.requests.some(({ url }) =>
      decodeURIComponent(url).endsWith('?filters={"name":["wsk"]}'),
    ),
  );
  await s.close();
});

/** Notes the pauses it is asked for, and ends each at once. */
class FastTimers implements Timers {
  readonly pauses: Millis[] = [];
  after(pause: Millis, run: () => void): Cancel {
    this.pauses.push(pause);
    setImmediate(run);
    return () => undefined;
  }
  every(): Cancel {
    return () => undefined;
  }
}

/**
 * The pauses before each of the first reconnects to an engine whose stream tells something and
 * ends.
 */
async function pausesOf(lasts: number, count: number): Promise<number[]> {
  const time = new ManualTime();
  const stub = await stubEngine((url, response) => {
    if (!url.includes('/events')) return json(response, VERSION);
    response.writeHead(200);
    response.write('{"Type":"container","Action":"create","Actor":{"ID":"c"},"timeNano":5}\n');
    // Once the client has the head of the answer.
    setTimeout(() => {
      time.advance(millis(lasts));
      response.destroy();
    }, 20);
  });
  const timers = new FastTimers();
  const client = new DockerClient({ socketPath: stub.socketPath });
  await new Promise<void>((resolve) => {
    const random = { next: () => 0.5 } as never;
    const nothing = () => undefined;
    const at = { clock: time, timers, random };
    const events: DockerEvents = new DockerEvents(client, () => true, at, {
      subscribed: nothing,
      changed: nothing,
      started: nothing,
      ended: nothing,
      paused: nothing,
      updated: nothing,
      oom: nothing,
      skipped: nothing,
      lost: () => {
        if (timers.pauses.length < count) return;
        events.stop();
        resolve();
      },
    });
    events.start();
  });
  client.close();
  await stub.close();
  return timers.pauses.slice(0, count);
}

test('a stream that breaks again and again is retried at growing intervals', async (t) => {
  // 100 ms, doubled up to 5 s; a random factor of 0.5 + 0.5.
  t.deepEqual(await pausesOf(50, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
});

test('after a connection that held for ten seconds the pause is short again', async (t) => {
  t.deepEqual(await pausesOf(10_001, 3), [100, 100, 100]);
});

test('after a gap events are requested since the current time of the clock', async (t) => {
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  // Stamped a year ahead, as before a clock was set back; asked for from there on, no event would
  // come for a year.
  s.tell('container', 'pause', c.id, '2099-01-01T00:00:00Z', c.name);
  await s.recorder.until((r) => r.count(`paused ${c.name}`) === 1);
  s.dropStreams();
  await s.recorder.until((r) => r.count('reconciled') === 2);
  const since = s.stub.requests
    .filter(({ url }) => url.includes('/events'))
    .map(({ url }) => /since=([\d.]+)/.exec(url)?.[1]);
  t.is(since.length, 2);
  for (const each of since) t.true(Math.abs(Number(each) - systemClock.wall() / 1e6) < 60, each);
  await s.close();
});

test('an event told again after a gap counts once', async (t) => {
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  s.tell('container', 'oom', c.id, LATER, c.name);
  await s.recorder.until((r) => r.count(`oom ${c.name}`) === 1);
  s.dropStreams();
  await s.recorder.until((r) => r.count('reconciled') === 2);
  s.tell('container', 'oom', c.id, LATER, c.name);
  // By a clock that was set back: earlier than the last one, and another kill.
  s.tell('container', 'oom', c.id, '2026-11-28T00:00:30Z', c.name);
  await s.recorder.until((r) => r.count(`oom ${c.name}`) === 2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(s.recorder.count(`oom ${c.name}`), 2);
  await s.close();
});
