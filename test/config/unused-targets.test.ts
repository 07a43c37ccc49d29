import test from 'ava';
import { loadConfig, unusedTargets } from '../../config/index.js';

const warningsOf = (text: string): string[] =>
  unusedTargets(loadConfig({ path: 'gleaner.yaml', readFile: () => text }).config);

test('targets are told to be unused if the range policy chooses without them', (t) => {
  t.deepEqual(warningsOf('agents: { manager: simppo }'), [
    'agents.manager: CPU quotas do not follow simppo, because policy smallest-in-range chooses ' +
      'them; set decision.policy.quota: target',
  ]);
  t.deepEqual(warningsOf('functions: { overrides: [{ match: /a/**, manager: package:own }] }'), [
    'functions.overrides.0.manager: CPU quotas do not follow package:own, because policy ' +
      'smallest-in-range chooses them; set decision.policy.quota: target',
  ]);
});

test('no warning without targets, or with policy target', (t) => {
  for (const text of [
    'log: { level: info }',
    'agents: { manager: kpa }',
    'agents: { manager: package:own }\ndecision: { policy: { quota: target } }',
    'functions: { overrides: [{ match: /a/**, manager: vpa, policy: target }] }',
  ])
    t.deepEqual(warningsOf(text), [], text);
  // A weight policy leaves the range policy as it is.
  t.is(
    warningsOf('functions: { overrides: [{ match: /a/**, manager: vpa, policy: gittins }] }')
      .length,
    1,
  );
});
