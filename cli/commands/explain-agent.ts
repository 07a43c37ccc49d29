import { type ConcurrencyReason, unsafeLimitText } from '../../agents/tuning/index.js';
import type { Broker } from '../../broker/index.js';
import { type AgentSummary, askEvery, type TunedConcurrency } from '../../broker/services/index.js';
import { count, localTime, plainText } from '../../runtime/index.js';

export interface ExplainedAgent {
  readonly host: string;
  readonly agent: AgentSummary & {
    readonly about?: string | undefined;
    readonly changed?: { readonly at: number; readonly reason: string } | undefined;
  };
  /** Null: its concurrency limit is not tuned. */
  readonly concurrency: TunedConcurrency | null;
}

/** The agent of a function on every agent host that has it, and agent hosts that are silent. */
export async function fetchAgent(broker: Broker, fn: string) {
  const request = { function: fn };
  const [agents, tuned] = await Promise.all([
    askEvery(broker, 'agents', 'inspect', request),
    askEvery(broker, 'agents', 'concurrency', request),
  ]);
  const found = [...agents.answers].map(
    ([host, { features, state, hosts, observation, ...agent }]): ExplainedAgent => {
      const limits = tuned.answers.get(host)?.functions ?? [];
      return { host, agent, concurrency: limits.find((one) => one.function === fn) ?? null };
    },
  );
  return { found, missing: agents.missing };
}

/** Reasons of the concurrency tuner in words; those of a newer agent host are missing. */
const REASONS: Readonly<Record<ConcurrencyReason, string>> = {
  loading: 'loading its state',
  frozen: 'held while the agent learns or is paused',
  settling: 'just changed',
  holding: 'held until there are enough observations',
  unbound: 'activations do not reach it, so nothing is tried',
  disallowed: 'no limit of the search is allowed',
  invalid: 'the observations are not plausible',
  begun: 'moved into the range of the search',
  searched: 'chosen by the search',
  elsewhere: 'tuned by another agent host',
  unsafe: 'the current limit causes failures',
};

export function agentText({ host, agent, concurrency }: ExplainedAgent): string {
  const { function: fn, manager, phase, paused, steps, about, changed } = agent;
  const lines = [
    [
      `${fn}: manager ${plainText(manager)} on ${plainText(host)}`,
      `phase ${plainText(phase)}${paused ? ' (paused)' : ''}`,
      `${count(steps)} steps (\`gleaner agents explain\`)`,
    ].join(', '),
  ];
  if (changed !== undefined) {
    lines.push(`phase since ${localTime(changed.at)}: ${plainText(changed.reason)}`);
  }
  if (about !== undefined) lines.push(plainText(about));
  if (concurrency !== null) {
    const { limit, targetLimit, reason, searchSteps, unsafeLimit } = concurrency;
    const targetText = targetLimit === limit ? '' : `, target ${targetLimit}`;
    const why = REASONS[reason as ConcurrencyReason] ?? plainText(reason);
    lines.push(
      `concurrency limit ${limit}${targetText}: ${why}; ` +
        `${count(searchSteps)} search steps on this agent host`,
    );
    if (unsafeLimit !== undefined) lines.push(`not tried again: ${unsafeLimitText(unsafeLimit)}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}
