import test from 'ava';
import {
  type Action,
  type ActivationResult,
  type Arrival,
  playWorkload,
} from '../../../simulator/invoker-emulator/index.js';

const action: Action = { namespace: 'guest', name: 'f', version: '0.0.1', code: '' };
const result: ActivationResult = {
  activationId: '',
  ok: true,
  kind: 'success',
  result: {},
  waitMs: 0,
  initMs: 0,
  runMs: 0,
  containerName: null,
  cold: false,
  coldStartMs: null,
};
const arrivals = (...times: number[]): Arrival[] => times.map((atMs) => ({ atMs, action }));

test('Arrivals keep their times, and latency counts from the intended time', async (t) => {
  let inFlight = 0;
  let most = 0;
  const records = await playWorkload(
    {
      async invoke() {
        most = Math.max(most, ++inFlight);
        await new Promise((resolve) => setTimeout(resolve, 200));
        inFlight--;
        return result;
      },
    },
    arrivals(0, 20, 40, 60),
  );
  t.is(most, 4);
  t.deepEqual(
    records.map((record) => record.atMs),
    [0, 20, 40, 60],
  );
  // Node's timers may fire up to a millisecond early.
  t.true(records.every((record) => record.latencyMs >= 198 && record.lateMs >= -2));
});

test('A slow invoker shows in the latency of the activation that waited', async (t) => {
  let busyUntil = 0;
  const records = await playWorkload(
    {
      async invoke() {
        busyUntil = Math.max(busyUntil, performance.now()) + 50;
        await new Promise((resolve) => setTimeout(resolve, busyUntil - performance.now()));
        return result;
      },
    },
    arrivals(0, 0, 0, 0),
  );
  t.true((records[3]?.latencyMs ?? 0) >= 195);
});

test('A workload stops at a signal', async (t) => {
  const instant = { invoke: async (): Promise<ActivationResult> => result };
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 30);
  t.is((await playWorkload(instant, arrivals(0, 60_000), { signal: stop.signal })).length, 1);
});
