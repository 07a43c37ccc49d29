import type { Observation } from '../../broker/messages/index.js';
import { type Bytes, type Millicores, millis } from '../../config/index.js';
import type { Decider } from '../decision/index.js';
import type { FunctionRecord } from './function-record.js';
import type { TargetRules } from './target.js';

/**
 * Closes the function's control step. Returns its observation, or null if there is nothing to
 * report. `now`: the host's monotonic ms.
 */
export function closeStep(
  fn: FunctionRecord,
  { host, boot }: Pick<TargetRules, 'host' | 'boot'>,
  decider: Pick<Decider, 'slo'>,
  now: number,
): Observation | null {
  const { step, revision, demand } = fn;
  if (step.empty || revision === null) return null;
  const { state } = revision;
  // NaN: not known yet.
  const slo = decider.slo(state);
  const asked = demand.take(now);
  const message: Observation = {
    v: 1,
    function: fn.action,
    host,
    boot,
    revision: state.version,
    step: step.number,
    observedAt: millis(now),
    span: millis(Math.max(0, now - step.beganAt)),
    mode: fn.mode,
    cpuMode: fn.cpuMode,
    activations: step.activations,
    coldStarts: step.coldStarts,
    failures: step.failures,
    oomKills: step.oomKills,
    running: fn.running,
    latency: step.latency.toMessage(),
    peak: amounts(step.peakCpu, step.peakMemory),
    used: amounts(step.usedCpu, step.usedMemory),
    throttledShare: step.periods > 0 ? Math.min(1, step.throttledPeriods / step.periods) : 0,
    // A spread object is slow to create.
    user: {
      cpu: number(fn.userCpu) as Millicores,
      memory: number(state.userMemory) as Bytes,
      shares: state.userShares,
    },
    granted: spreads(step.grantedCpu, step.grantedMemory),
    demand: amounts(asked.cpu, asked.memory),
    containers: fn.containers,
    concurrency: state.concurrency,
    control: {
      activations: step.control.count,
      mean: step.control.mean,
      p99: step.control.quantile(0.99),
    },
  };
  if (!state.sharesFollowMemory) message.user.sharesFollowMemory = false;
  if (step.waits && step.ended > 0) message.cpuWait = millis(step.waited / step.ended);
  if (step.coldLatency.count > 0) message.coldLatency = step.coldLatency.toMessage();
  if (step.inits > 0) {
    message.initTime = millis(step.initTotal / step.inits);
    if (step.inits !== step.coldStarts) message.inits = step.inits;
  }
  if (slo > 0 && Number.isFinite(slo)) message.slo = millis(slo);
  step.clear();
  return message;
}

/** A message never carries what is not finite: an unknown amount is 0. */
const number = (value: number): number => (Number.isFinite(value) && value > 0 ? value : 0);

export const amounts = (cpu: number, memory: number): { cpu: Millicores; memory: Bytes } => ({
  cpu: number(cpu) as Millicores,
  memory: number(memory) as Bytes,
});

type Three = { min: number; mean: number; max: number };
const spreads = (cpu: Three, memory: Three): Observation['granted'] => ({
  cpu: cpu as Observation['granted']['cpu'],
  memory: memory as Observation['granted']['memory'],
});
