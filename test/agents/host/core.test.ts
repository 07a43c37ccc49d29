import test from 'ava';
import { Agent, AgentHostCore } from '../../../agents/host/index.js';
import type { Decision } from '../../../agents/index.js';
import { fixedManager } from '../../../agents/managers/index.js';
import { Aggregator } from '../../../broker/mean-field/index.js';
import {
  type Micros,
  type Millicores,
  mebibytes,
  millis,
  SeededRandom,
} from '../../../config/index.js';
import { amounts, observation } from '../../support/observations.js';

const INTERVAL = millis(1000);
const at = (seconds: number) => millis(1000 * seconds);
const STEP_UP: Decision = { actions: [0, 1, 0] };

function stage() {
  const core = new AgentHostCore({
    host: 'agents-1',
    boot: 'boot-1',
    interval: INTERVAL,
    random: new SeededRandom(1),
  });
  const aggregator = new Aggregator({ host: 'aggregator', boot: 'boot-1', step: INTERVAL });
  const agents = ['/guest/a', '/guest/b'].map((fn) => new Agent(fn, fixedManager()));
  const [a, b] = agents as [Agent, Agent];
  const observe = (agent: Agent, seconds: number) =>
    core.decide(agent, observation({ function: agent.fn }), at(seconds));
  return { core, aggregator, agents, a, b, observe };
}

test('an agent counts in the partial sums for three intervals after its last observation', (t) => {
  const { core, agents, a, b, observe } = stage();
  observe(a, 1);
  observe(b, 2);
  t.deepEqual(
    [2, 4, 4.001, 5, 5.001].map((seconds) => core.partial(agents, at(seconds)).sums.members),
    [2, 2, 1, 1, 0],
  );
});

test('an agent contributes what it uses of the hosts that were seen lately, in any order', (t) => {
  const { core, a } = stage();
  const see = (host: string, containers: number, seconds: number) =>
    core.decide(a, observation({ function: a.fn, host, containers }), at(seconds));
  const used = (since: number) => a.contribution(at(since)).allocated.containers;
  see('invoker-1', 2, 1);
  see('invoker-2', 3, 2);
  see('invoker-3', 4, 3);
  t.is(used(1), 9);
  see('invoker-1', 5, 4);
  t.is(used(3), 9, 'all but the three of invoker-2');
  t.is(used(4), 5);
  t.is(used(4.001), 0);
});

test('steps count in one batch only; the rest is said again until it changes', (t) => {
  const { core } = stage();
  const manager = { ...fixedManager(), decide: () => ({ state: null, decision: STEP_UP }) };
  const a = new Agent('/guest/a', manager);
  const see = (containers: number, seconds: number) =>
    core.decide(a, observation({ function: a.fn, containers }), at(seconds));
  see(2, 1);
  see(3, 2);
  const first = a.contribution(at(1));
  t.deepEqual(first.actions, [0, 1, 0]);
  const second = a.contribution(at(1));
  t.deepEqual(second, { ...first, actions: [0, 0, 0] });
  t.is(a.contribution(at(1)), second);
  see(4, 3);
  t.deepEqual(a.contribution(at(1)).actions, [0, 1, 0]);
});

test('each function sees the newest mean field without its own contribution', (t) => {
  const { core, aggregator, agents, a, b, observe } = stage();
  t.is(core.meanField.contextOf(a.fn, 'invoker-1', at(1)).field, null);
  observe(a, 1);
  for (const expected of [0, 1]) {
    aggregator.takePartial(core.partial(agents, at(1)), at(1));
    core.meanField.take(aggregator.step(at(1), 1), at(1));
    t.is(core.meanField.contextOf(a.fn, 'invoker-1', at(1)).others?.members, expected);
    observe(b, 1);
  }
});

test('a mean field of a former aggregator is ignored until the newer one is outdated', (t) => {
  const { core, aggregator } = stage();
  const former = aggregator.step(at(1), 1);
  const newer = aggregator.step(at(1), 2);
  core.meanField.take(newer, at(1));
  core.meanField.take(former, at(4));
  t.is(core.meanField.current(at(4)), newer);
  t.is(core.meanField.obsolete, 1);
  t.is(core.meanField.current(at(4.001)), null, 'older than three intervals');
  t.is(core.meanField.age(at(4.001)), Number.NaN);
  core.meanField.take(former, at(4.001));
  t.is(core.meanField.current(at(4.001)), former);
});

test('a target echoes its observation and carries the highest peak of any host', (t) => {
  const { core, a } = stage();
  const here = observation({ function: a.fn, peak: amounts(100, 90) });
  const there = observation({ function: a.fn, host: 'invoker-2', peak: amounts(100, 120) });
  const targets = [here, there].map((one) => core.target(a, core.decide(a, one, at(1)), one, 7));
  t.deepEqual(
    targets.map(({ author, epoch, echo, peak }) => [
      author.sequence,
      epoch,
      echo.host,
      peak?.memory,
    ]),
    [
      [1, 7, here.host, mebibytes(90)],
      [2, 7, 'invoker-2', mebibytes(120)],
    ],
  );
  t.false('actions' in targets[0]!, 'actions are for the mean field, not for hooks');
});

test('a decision that is not a positive number is an error', (t) => {
  const { core } = stage();
  const decision = { cpu: Number.NaN as Millicores, actions: [0, 0, 0] as const };
  const broken = { ...fixedManager(), decide: () => ({ state: null, decision }) };
  t.throws(() => core.decide(new Agent('/guest/a', broken), observation(), at(1)), {
    message: /fixed returned an amount that is not positive/,
  });
});

test('an agent keeps its newest 16 decisions, newest first', (t) => {
  const { a, observe } = stage();
  for (let second = 1; second <= 20; second++) {
    observe(a, second);
    a.remember(observation({ function: a.fn }), 0 as Micros, true);
  }
  t.deepEqual(
    a.decisions().map(({ step }) => step),
    Array.from({ length: 16 }, (_, i) => 20 - i),
  );
});
