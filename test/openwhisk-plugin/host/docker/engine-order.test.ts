import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import { allowed } from '../../../support/slowness.js';
import type { Recorder } from './recorder.js';
import { scripted } from './scripted-engine.js';

const at = (seconds: number): string =>
  new Date(Date.parse('2026-11-28T12:00:00Z') + seconds * 1000).toISOString();

/** By address, what a registry has in which the last start owns the address. */
function ownersOf({ order }: Recorder): string[] {
  const owners = new Map<string | null, string>();
  for (const { what, container } of order) {
    if (what === 'started') owners.set(container.address, container.id);
    else if (owners.get(container.address) === container.id) owners.delete(container.address);
  }
  return [...owners].map(([address, id]) => `${address} ${id}`).sort();
}

test('an end after the clock was set back counts, and its address is free', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const old = s.add(1, at(9));
  s.tell('container', 'start', old.id, at(9), old.name);
  await s.recorder.until((r) => r.started.length === 1);
  s.running.delete(old.id);
  s.tell('container', 'die', old.id, at(0.5), old.name);
  const young = s.add(2, at(1));
  young.address = old.address;
  s.tell('container', 'start', young.id, at(1), young.name);
  await s.recorder.until((r) => r.started.length === 2 && r.ended.length === 1);
  t.is(s.recorder.count(`ended ${old.name}`), 1);
  await s.close();
});

test('a container announced twice at the start is known after the first listing', async (t) => {
  const s = await scripted();
  const c = s.add(1);
  s.state.delays.set(c.id, 100);
  // The engine repeats the events of the last second; a pass asks for networks first, and lists
  // while the container is inspected for its event.
  s.state.beforeNetworks = () => s.tell('container', 'start', c.id, at(0), c.name);
  await s.engine.start(s.recorder);
  t.is(s.recorder.count(`started ${c.name}`), 1);
  await s.close();
});

test('of two containers with one address the later one is announced last', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const old = s.add(1);
  s.state.delays.set(old.id, allowed(600));
  s.tell('container', 'start', old.id, at(0), old.name);
  const young = s.add(2);
  young.address = old.address;
  s.tell('container', 'start', young.id, at(1), young.name);
  await s.recorder.until((r) => r.count(`started ${young.name}`) === 1);
  await new Promise((resolve) => setTimeout(resolve, allowed(700)));
  t.is(s.recorder.count(`started ${old.name}`), 0, 'it has ended: its address is taken');
  await s.close();
});

test('after any clock steps each address belongs to its latest container', async (t) => {
  const step = fc.record({
    what: fc.constantFrom('start', 'end', 'restart', 'lose'),
    address: fc.integer({ min: 1, max: 3 }),
    clock: fc.integer({ min: -3600, max: 3600 }),
    delay: fc.constantFrom(0, 0, 3),
  });
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), async (steps) => {
      const s = await scripted({ every: 20 });
      await s.engine.start(s.recorder);
      const running = new Map<number, { id: string; name: string }>();
      let now = 0;
      for (const { what, address, clock, delay } of steps) {
        now += clock;
        const old = running.get(address);
        if (what === 'lose') s.dropStreams();
        if ((what === 'end' || what === 'start') && old !== undefined) {
          s.running.delete(old.id);
          running.delete(address);
          s.tell('container', 'die', old.id, at(now), old.name);
        }
        if (what === 'restart' && old !== undefined) {
          s.tell('container', 'die', old.id, at(now), old.name);
          s.running.get(old.id)!.startedAt = at(now);
          s.tell('container', 'start', old.id, at(now), old.name);
        }
        if (what === 'start') {
          const container = s.add(++number, at(now));
          container.address = `172.17.9.${address}`;
          s.state.delays.set(container.id, delay);
          running.set(address, container);
          s.tell('container', 'start', container.id, at(now), container.name);
        }
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
      const expected = [...running].map(([address, { id }]) => `172.17.9.${address} ${id}`).sort();
      // Rejects where it never comes to that: a listing is every 20 ms.
      await s.recorder.until((r) => isDeepStrictEqual(ownersOf(r), expected));
      await s.close();
    }),
    { numRuns: 25 },
  );
  t.pass();
});
