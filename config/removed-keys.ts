/** Keys of earlier releases that became constants, and the value that each now has. */
export const REMOVED_KEYS: Readonly<Record<string, string>> = {
  'nats.name': 'gleaner',
  'nats.requestTimeoutMs': '2000 ms',
  'nats.embedded.port': 'any free port',
  'hook.engineTimeoutMs': '5000 ms',
  'hook.reconcileS': '30 s',
  'hook.containerPort': '8080',
  'hook.auditPath': 'audit.jsonl in hook.stateDir',
  'hook.auditFiles': '5',
  'hook.killSwitchFile': 'kill-switch in hook.stateDir',
  'hook.driftS': '5 s',
  'decision.spikeMargin': '0.05',
  'decision.cpuUnitMillicores': '50 millicores',
  'decision.cpuUnitShare': '0.05',
  'decision.memoryUnitMiB': '16 MiB',
  'decision.minWindowMs': '50 ms',
  'decision.lateStartMs': '50 ms',
  'decision.reactionMs': 'hook.sampleMs + 30 ms, at least 130 ms',
  'decision.concurrentStep': '0.1',
  'decision.payloadAware': 'true',
  'decision.boost.maxMs': '10000 ms',
  'decision.memory.shrinkMargin': '0.25',
  'decision.memory.oomHoldRuns': '20',
  'agents.trajectoriesMiB': '128 MiB (afterwards: nats stream edit --max-bytes)',
  'agents.registry.most': '100000',
  'agents.concurrency.guard': 'true',
  'aggregator.silentSteps': '1.5',
  'dashboard.maxFunctions': '5000',
  'openwhisk.timeoutMs': '10000 ms',
  'openwhisk.rightSizing.barDays': '30 days',
};

const CHOSEN = 'was removed: chosen by the policy, see docs/decisions/0014-range-and-reference.md';

/** Other keys of earlier releases, and what to do about each. */
export const CHANGED_KEYS: Readonly<Record<string, string>> = {
  'decision.weight.clampMin': CHOSEN,
  'decision.weight.clampMax': CHOSEN,
  'decision.boost.factor': CHOSEN,
  'openwhisk.rightSizing.leastCalls': 'is now openwhisk.rightSizing.leastActivations',
  'openwhisk.rightSizing.watchCalls': 'is now openwhisk.rightSizing.watchActivations',
};
