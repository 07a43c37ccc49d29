import test from 'ava';
import { serve } from '../../broker/services/index.js';
import { phaseText } from '../../cli/commands/agents.js';
import {
  absentText,
  missingServices,
  newerText,
  partStates,
  serviceLines,
} from '../../cli/commands/status.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

const agents = (host: string, id: string) => ({ service: 'gleaner-agents', host, id });

test('an expected instance is missing if nothing of its service and host answers', (t) => {
  const expected = [
    agents('h1', 'killed'),
    agents('h1', 'restarted'),
    agents('h2', 'slow'),
    { service: 'gleaner-hook', host: 'h1', id: 'hook' },
  ];
  const found = [
    { name: 'gleaner-agents', id: 'restarted', version: '1.0.0', metadata: { host: 'h1' } },
    { name: 'gleaner-hook', id: 'hook', version: '1.0.0', metadata: { host: 'h1' } },
  ];
  t.deepEqual(missingServices(expected, found), [{ service: 'gleaner-agents', host: 'h2' }]);
});

test('paused agent hosts and aggregators are shown, and parts that failed', async (t) => {
  const bus = new MemoryBus();
  const state = {
    paused: true,
    host: 'h1',
    boot: 'boot-1',
    observations: {},
    meanField: {},
    shards: 0,
    counts: {},
    handOver: {},
    total: 0,
    features: [],
    phases: {},
    managers: {},
    functions: [],
    publishing: false,
    epoch: null,
    agents: [],
    invokers: [],
    refusals: {},
    failed: [{ service: 'gleaner-hook', host: 'h3', failure: 'a fault', age: 2000 }],
  };
  for (const [name, host, paused] of [
    ['gleaner-agents', 'h1', true],
    ['gleaner-agents', 'h2', false],
    ['gleaner-aggregator', 'h2', true],
  ] as const)
    serve(bus.connect(), {
      name,
      version: '1.0.0',
      description: 'test',
      host,
      endpoints: {
        list: {
          description: 'test',
          handle: () => ({ ...state, host, paused, newerObjects: paused ? 0 : 3 }),
        },
      },
    });
  const { states, failed } = await partStates(bus.connect());
  const found = ['h1', 'h2'].map((host) => ({
    name: 'gleaner-agents',
    id: host,
    version: '1.0.0',
    metadata: { host },
  }));
  t.deepEqual(
    serviceLines(found, states).map((line) => line.paused),
    [true, false],
  );
  t.true(states.get('gleaner-aggregator h2')?.paused);
  t.deepEqual(failed, state.failed);
  t.regex(
    newerText(serviceLines(found, states)),
    /^h2: 3 stored objects of a newer Gleaner[^\n]*$/,
  );
});

test('`agents list` shows the pause of an agent, and that of its whole host', (t) => {
  const shown = (paused: boolean, hostPaused: boolean): string =>
    phaseText({ phase: 'serving', paused, hostPaused });
  t.is(shown(false, false), 'serving');
  t.is(shown(true, false), 'serving (paused)');
  t.is(shown(true, true), 'serving (host paused)');
});

test('a part of which no instance answers is named', (t) => {
  const names = ['gleaner-hook', 'gleaner-agents', 'gleaner-aggregator'];
  const text = (...services: string[]) => absentText(services.map((service) => ({ service })));
  t.is(text(...names), '');
  t.regex(text('gleaner-hook'), /^no agent host answers: .*\nno aggregator answers: .*$/);
});
