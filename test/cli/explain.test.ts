import test from 'ava';
import { agentDecisionSchema } from '../../broker/services/index.js';
import { decisionJson } from '../../cli/commands/agents.js';
import {
  failedInitsText,
  grantText,
  outcomeText,
  slowdownBoundText,
  storedModeText,
} from '../../cli/commands/explain.js';
import { cores, localTime } from '../../runtime/output.js';

const ended = (reason: string, status: number) =>
  outcomeText({
    ended: reason,
    status,
    enforced: false,
    harvested: 0,
    accelerated: 0,
    saved: 0,
    loan: 0,
  } as never);

test('explain shows a failed initialization of an activation', (t) => {
  t.is(ended('init_failed', 502), 'not enforced; initialization failed (status 502)');
  t.is(ended('init_failed', 0), 'not enforced; initialization failed (no answer)');
  t.is(ended('container_end', 0), 'not enforced; container ended');
});

test('explain shows that the user changed the limits during an activation', (t) => {
  const entry = { ended: 'answer', harvested: 0, accelerated: 0, saved: 0, loan: 0 };
  t.is(
    outcomeText({ ...entry, enforced: false, limitsChanged: true } as never),
    'not enforced; user limits changed while it ran',
  );
});

test('explain shows failed initializations of unknown activations', (t) => {
  // 2026-01-01T00:00:00Z in microseconds.
  const text = failedInitsText({
    count: 3,
    at: 1_767_225_600_000_000,
    status: 502,
    container: 'wsk0_5_guest_broken',
  });
  t.true(text.startsWith('initialization failed 3 times'), text);
  t.true(
    text.includes(`${localTime(1_767_225_600_000_000)}, status 502, container wsk0_5_guest_broken`),
    text,
  );
});

test('a decision for programs has units in its keys, and null for none', (t) => {
  const decision = agentDecisionSchema.parse({
    at: 1_700_000_000_000_000,
    step: 3,
    phase: 'serving',
    host: 'invoker0',
    activations: 8,
    features: [0.5],
    others: true,
    price: { cpu: 0.2, memory: 0 },
    decision: { cpu: 750, memory: 134_217_728, weightFactor: 2, actions: [1] },
    sent: true,
  });
  t.deepEqual(JSON.parse(JSON.stringify(decisionJson(decision))), {
    atMicros: 1_700_000_000_000_000,
    invokerHost: 'invoker0',
    step: 3,
    phase: 'serving',
    activations: 8,
    features: [0.5],
    others: true,
    sent: true,
    priceCpu: 0.2,
    priceMemory: 0,
    requested: { cpuMillicores: 750, memoryBytes: 134_217_728, weightFactor: 2, actions: [1] },
  });
  t.like(decisionJson({ ...decision, price: null, decision: null }), {
    priceCpu: null,
    requested: null,
  });
});

test('a grant in words: granted, allowed and requested limits, and the reason', (t) => {
  const grant = {
    user: 1000,
    demand: 400,
    lower: 300,
    upper: 1000,
    granted: 350,
    borrowed: 0,
    peak: 250,
    rangeReason: 'over_provisioned' as const,
    choice: 'chosen' as const,
  };
  t.is(
    grantText(grant, cores),
    '0.35, allowed 0.3 to 1, user 1, requested 0.4: uses less than its limit; as the policy chose',
  );
  const fixed = {
    ...grant,
    demand: 1000,
    lower: 1000,
    granted: 1000,
    rangeReason: 'control' as const,
    choice: 'user' as const,
  };
  t.is(grantText(fixed, cores), "1, the user's: control arm: user limit");
});

test('times are local, and absent if invalid', (t) => {
  const date = new Date(2026, 10, 29, 0, 18, 48);
  t.is(localTime(date.getTime() * 1000), '2026-11-29 00:18:48');
  t.is(localTime(date.getTime() * 1000, 'time'), '00:18:48');
  t.is(localTime(Number.NaN), '-');
});

test('explain shows the figure that the slowdown bound acts on', (t) => {
  const known = {
    bound: 1.25,
    meanTimeRatio: 1.45,
    deprioritized: true,
    activations: 20,
    activationsNeeded: 20,
    controlSamples: 24,
    controlSamplesNeeded: 10,
  };
  t.is(
    slowdownBoundText(known),
    'mean-time ratio 1.45 (20 activations, 24 control samples), slowdown bound 1.25',
  );
  t.is(
    slowdownBoundText({ ...known, deprioritized: false, meanTimeRatio: null, activations: 3 }),
    'mean-time ratio – (3 of 20 activations, 24 of 10 control samples), slowdown bound 1.25 ' +
      '(not deprioritized: not applied)',
  );
});

test('explain names who paused the function, and why', (t) => {
  const stored = { v: 1, kill: false, paused: true, author: 'operator:ann', reason: '' } as const;
  t.is(storedModeText(stored), 'paused by operator:ann');
  t.is(
    storedModeText({ unreadable: true }),
    'paused: its stored mode cannot be read (`gleaner mode`)',
  );
  t.is(
    storedModeText({ ...stored, mode: 'observe', reason: 'too slow' }),
    'paused, mode observe by operator:ann: too slow',
  );
});
