import test from 'ava';
import { FunctionHistory } from '../../../simulator/freyr-2021/function-history.js';
import { Request } from '../../../simulator/freyr-2021/request.js';
import {
  type Allocation,
  durationOf,
  type PublishedFunction,
} from '../../../simulator/freyr-2021/rules.js';
import { safeguardRange } from '../../../simulator/freyr-2021/safeguard-range.js';
import { Server } from '../../../simulator/freyr-2021/server.js';

const fn: PublishedFunction = {
  index: 0,
  user: { cpu: 4, memory: 4 },
  idealCpu: 5,
  idealMb: 320,
  idealMemory: 6,
  minDuration: 10,
  maxDuration: 22,
  coldStart: 2,
  timeout: 30,
};

test('durations follow the published law', (t) => {
  // Ideal amounts and more: no lack, floor(10) + 1.
  t.is(durationOf(fn, { cpu: 5, memory: 5 }), 11);
  t.is(durationOf(fn, { cpu: 8, memory: 8 }), 11);
  // One unit of each: all of the spread.
  t.is(durationOf(fn, { cpu: 1, memory: 1 }), 23);
  // CPU lacks (5-3)/(5-1) = 1/2, memory nothing: 10 + 12 x 2/3 x 1/2 = 14.
  t.is(durationOf(fn, { cpu: 3, memory: 5 }), 15);
  // Memory lacks (320-192)/(320-64) = 1/2, CPU nothing: 10 + 12 x 1/3 x 1/2 = 12.
  t.is(durationOf(fn, { cpu: 5, memory: 3 }), 13);
});

test('where the exact sum is whole, the published order rounds it down', (t) => {
  // 1 + 4 x (2/3 x 1/2 + 1/3 x 1/2) is 3 and would give 4 ticks; added in the published order it is
  // 2.9999999999999996.
  const odd = { ...fn, idealCpu: 3, idealMb: 192, minDuration: 1, maxDuration: 5 };
  t.is(durationOf(odd, { cpu: 2, memory: 2 }), 3);
});

function ended(
  allocation: Allocation,
  order = 0,
  outcome: 'success' | 'timeout' = 'success',
): Request {
  const request = new Request(order, fn, allocation);
  request.outcome = outcome;
  return request;
}

test('the published mask', (t) => {
  const history = new FunctionHistory(fn);
  t.deepEqual(safeguardRange(history, 'cpu'), { lower: 4, upper: 4 }, 'nothing is known: the user');
  // Peak min(4, 5) = 4 of 4: above 0.9 of the user's, so more is allowed; lower is one above the
  // peak.
  history.add(ended({ cpu: 4, memory: 4 }));
  t.deepEqual(safeguardRange(history, 'cpu'), { lower: 5, upper: 8 });

  const idle = { ...fn, idealCpu: 2, idealMb: 64, idealMemory: 2 };
  const over = new FunctionHistory(idle);
  const past = (order: number, cpu: number): void => {
    const request = new Request(order, idle, { cpu, memory: 4 });
    request.outcome = 'success';
    over.add(request);
  };
  // Peak 2 of the user's 4 and of 4 given: between one above the peak and the user's.
  past(0, 4);
  t.deepEqual(safeguardRange(over, 'cpu'), { lower: 3, upper: 4 });
  // Peak 2 of 2 given: a spike, back to the user.
  past(1, 2);
  t.deepEqual(safeguardRange(over, 'cpu'), { lower: 4, upper: 4 });
  t.deepEqual(safeguardRange(over, 'memory'), { lower: 3, upper: 4 }, 'resources are judged apart');
  // Newest is by arrival, not by end.
  past(-1, 3);
  t.deepEqual(safeguardRange(over, 'cpu'), { lower: 4, upper: 4 });
});

test('a timeout is looked back at, but its peak does not raise the lower bound', (t) => {
  const history = new FunctionHistory(fn);
  history.add(ended({ cpu: 2, memory: 4 }, 0, 'timeout'));
  // Peak 2 of the user's 4, 2 of 2 given: a spike.
  t.deepEqual(safeguardRange(history, 'cpu'), { lower: 4, upper: 4 });
  history.add(ended({ cpu: 3, memory: 4 }, 1, 'timeout'));
  t.deepEqual(history.recentPeak, { cpu: 0, memory: 0 });
});

/** Steps a server until nothing is there; the tick at which each request ended, by order. */
function ends(server: Server, from = 0): Map<number, number> {
  const at = new Map<number, number>();
  for (let tick = from; !server.isIdle; tick++)
    server.step(tick, (request) => at.set(request.order, tick));
  return at;
}

test('a cold start comes before the work and is not part of it', (t) => {
  const server = new Server();
  const request = new Request(0, fn, { cpu: 5, memory: 5 });
  server.accept(request);
  // 2 ticks of cold start, then 11: ticks 0 to 12.
  t.deepEqual([...ends(server)], [[0, 12]]);
  t.is(request.progress, 11);
});

test('a queue works on what waits, and lets it go one tick after it has a place', (t) => {
  const server = new Server();
  server.accept(new Request(0, fn, { cpu: 8, memory: 8 }));
  const second = new Request(1, fn, { cpu: 8, memory: 8 });
  t.false(server.fits(second));
  server.enqueue(second);
  // The first ends at tick 12; there the second, 13 ticks in the queue, moves in. Its cold start
  // takes ticks 13 and 14; the tick after finds 14 >= 11 ticks made.
  t.deepEqual(
    [...ends(server)],
    [
      [0, 12],
      [1, 15],
    ],
  );
  t.is(second.progress, 14);
});

test('in a queue time runs out, unless the work is done', (t) => {
  const slow = { ...fn, minDuration: 200, maxDuration: 200, timeout: 600 };
  const outcome = (timeout: number, minDuration: number): string => {
    const server = new Server();
    server.accept(new Request(0, slow, { cpu: 8, memory: 8 }));
    const waiting = new Request(
      1,
      { ...fn, timeout, minDuration, maxDuration: minDuration },
      { cpu: 8, memory: 8 },
    );
    server.enqueue(waiting);
    ends(server);
    return `${waiting.outcome} ${waiting.progress}`;
  };
  // 30 ticks allowed, 101 wanted: gone at the 30th.
  t.is(outcome(30, 100), 'timeout 30');
  // 100 allowed, 11 wanted: it is as good as done when its place is free, after 203 ticks (2 +
  // 201), and ends one tick later.
  t.is(outcome(100, 10), 'success 204');
});

test('a warm container must be strictly larger; of several the oldest goes', (t) => {
  const server = new Server();
  const play = (order: number, allocation: Allocation, from: number): number => {
    const request = new Request(order, fn, allocation);
    server.accept(request);
    return ends(server, from).get(order)! - from;
  };
  t.is(play(0, { cpu: 5, memory: 5 }, 0), 12, 'cold');
  // The second 0 (nothing is older than 10 s): equal is not larger.
  t.is(play(1, { cpu: 5, memory: 5 }, 0), 12, 'cold');
  // Strictly smaller: CPU lacks 1/4 of 8, memory 64/256 of 4: 10 + 2 + 1 = 13 and 1, no cold start:
  // ticks 0 to 13.
  t.is(play(2, { cpu: 4, memory: 4 }, 0), 13, 'warm');
});
