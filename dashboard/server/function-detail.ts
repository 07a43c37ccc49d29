import { type Broker, ServiceError } from '../../broker/index.js';
import { type AgentDecision, askEvery, type ExplanationView } from '../../broker/services/index.js';
import { messageOf } from '../../config/index.js';
import { grantReason, reasonText, requestedCpu } from '../../rules/index.js';
import type { ActivationView, AgentStep, FunctionDetail, GrantView } from '../wire.js';
import type { Collector } from './collector.js';

const SHOWN = 16;

const grantView = ({ rangeReason, choice, peak, ...grant }: ExplanationView['cpu']): GrantView => ({
  ...grant,
  peak: peak === null || peak < 0 ? null : peak,
  why: grantReason(rangeReason, choice),
});

const activationView = (host: string, one: ExplanationView): ActivationView => ({
  ...one,
  host,
  at: one.startedAt / 1_000_000,
  duration: one.durationMillis,
  init: one.initMillis,
  endedBy: one.ended === 'answer' ? '' : reasonText(one.ended),
  cpu: grantView(one.cpu),
  memory: grantView(one.memory),
  tripped: one.trippedCpu || one.trippedMemory,
});

const stepView = (one: AgentDecision): AgentStep => ({
  at: one.at / 1_000_000,
  step: one.step,
  phase: one.phase,
  features: one.features,
  priceCpu: one.price?.cpu ?? null,
  requested: {
    cpu: one.decision?.cpu === undefined ? null : requestedCpu(one.decision.cpu),
    memory: one.decision?.memory ?? null,
    weight: one.decision?.weightFactor ?? null,
  },
  sent: one.sent,
});

/** Details of one function from every hook and agent host; null: unknown function. */
export async function functionDetail(
  broker: Broker,
  collector: Collector,
  name: string,
): Promise<FunctionDetail | null> {
  const entry = collector.functions.get(name);
  if (entry === undefined) return null;
  const request = { function: name };
  const problems: string[] = [];
  const answered = <T>(asked: Promise<T>): Promise<T | null> =>
    asked.catch((error: unknown) => {
      problems.push(messageOf(error));
      return null;
    });
  const [hooks, agents] = await Promise.all([
    answered(askEvery(broker, 'hook', 'explain', request)),
    answered(askEvery(broker, 'agents', 'explain', request)),
  ]);
  for (const [host, error] of hooks?.errors ?? []) problems.push(`${host}: ${messageOf(error)}`);
  // The agent hosts that do not have the function answer with a service error.
  for (const error of agents?.errors.values() ?? [])
    if (!(error instanceof ServiceError)) problems.push(messageOf(error));
  const activations = [...(hooks?.answers ?? [])].flatMap(([host, answer]) =>
    answer.activations.map((one) => activationView(host, one)),
  );
  const steps = [...(agents?.answers.values() ?? [])].flatMap(({ decisions }) =>
    decisions.map(stepView),
  );
  return {
    name,
    history: entry.history.columns(),
    learning: {
      step: entry.learning.map(({ step }) => step),
      reward: entry.learning.map(({ reward }) => reward),
    },
    featureNames: collector.meanField.featureNames,
    activations: activations.sort((a, b) => b.at - a.at).slice(0, SHOWN),
    steps: steps.sort((a, b) => b.at - a.at).slice(0, SHOWN),
    problems,
  };
}
