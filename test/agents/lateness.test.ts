import test from 'ava';
import { Agent, AgentHostCore } from '../../agents/host/index.js';
import { latenessAfter, latenessOf } from '../../agents/lateness.js';
import { fixedManager } from '../../agents/managers/index.js';
import { LatencyHistogram } from '../../broker/messages/index.js';
import { type Millis, millis, SeededRandom } from '../../config/index.js';
import { observation } from '../support/observations.js';

const histogram = (latencies: readonly number[]) => {
  const all = new LatencyHistogram();
  for (const one of latencies) all.record(one);
  return all.toMessage();
};

/** One step of ten seconds. */
const step = (latencies: readonly number[], slo?: number) =>
  observation({ latency: histogram(latencies), span: millis(10_000), slo: slo as Millis });

/** Buckets are 9 % wide and the kernel is 0 at a factor of 2: a count is known to about a tenth. */
const near = (actual: number, expected: number) =>
  Math.abs(actual - expected) <= 0.1 * expected + 0.05;

test('activations near their objective are at stake, those far from it are not', (t) => {
  const at = (latency: number) => latenessAfter(null, step([latency], 1000), millis(10_000));
  // The kernel has area 1 over the logarithm: 1 / ln 2 at the objective, half at a factor of √2.
  t.true(near(at(1000).atStake, 1 / Math.LN2));
  t.true(near(at(1000 * Math.SQRT2).atStake, 0.5 / Math.LN2));
  t.true(near(at(1000 / Math.SQRT2).atStake, 0.5 / Math.LN2));
  t.is(at(400).atStake, 0);
  t.is(at(2500).atStake, 0);
  t.is(at(2500).late, 1);
  t.is(at(400).late, 0);
});

test('counts of a minute ago weigh 1 / e, and a rate does not depend on the step', (t) => {
  const first = latenessAfter(null, step(Array(10).fill(2000), 1000), millis(10_000));
  t.is(first.late, 10);
  const later = latenessAfter(first, step([], 1000), millis(70_000));
  t.true(Math.abs(later.late - 10 / Math.E) < 1e-9);
  // One late activation each second in either case.
  let state = first;
  for (let i = 2; i <= 60; i++)
    state = latenessAfter(state, step(Array(10).fill(2000), 1000), millis(i * 10_000));
  t.true(Math.abs(latenessOf(state).late - 1) < 1e-9);
  t.true(Math.abs(latenessOf(state).running - 2) < 0.01);
});

test('a cold start is not at stake', (t) => {
  const latency = histogram([1000, 400]);
  const coldLatency = histogram([1000]);
  const seen = { ...step([], 1000), latency, coldLatency };
  const state = latenessAfter(null, seen, millis(10_000));
  t.is(state.atStake, 0);
  t.is(state.activations, 1);
  t.true(Math.abs(state.runSeconds - 0.4) < 1e-9);
});

test('an objective below four times the mean latency is urgent', (t) => {
  const of = (slo: number) => latenessAfter(null, step([90, 110], slo), millis(10_000)).isUrgent;
  t.deepEqual([390, 410].map(of), [true, false]);
});

test('an agent host adds up the lateness of functions with an objective', (t) => {
  const core = new AgentHostCore({
    host: 'agents-1',
    boot: 'boot-1',
    interval: millis(10_000),
    random: new SeededRandom(1),
  });
  const agents = ['/guest/a', '/guest/b', '/guest/c'].map((fn) => new Agent(fn, fixedManager()));
  const slos = [100, 5000, undefined];
  agents.forEach((agent, i) => {
    const seen = { ...step([200, 200], slos[i]), function: agent.fn };
    core.decide(agent, seen, millis(10_000));
  });
  const { lateness } = core.partial(agents, millis(10_000)).sums;
  // Two late activations and .4 s of running in ten seconds.
  t.is(lateness?.urgent.late, 0.2);
  t.true(Math.abs(lateness!.urgent.running - 0.04) < 1e-9);
  t.is(lateness?.patient.late, 0);
  t.true(Math.abs(lateness!.patient.running - 0.04) < 1e-9);
});
