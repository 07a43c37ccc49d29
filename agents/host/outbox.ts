import { type Broker, subjects } from '../../broker/index.js';
import { encodeMessage, type GleanerEvent, type Target } from '../../broker/messages/index.js';
import type { Clock } from '../../config/index.js';
import type { Decision, PhaseChange } from '../resource-manager.js';
import { type UnsafeLimit, unsafeLimitText } from '../tuning/index.js';
import type { Agent } from './agent.js';

/** Longest reason of an event, characters. */
const REASON_MAX = 512;

export interface OutboxOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly host: string;
  readonly boot: string;
}

/** Publishes an agent host's targets, agent reports and events. */
export class Outbox {
  readonly #options: OutboxOptions;
  #events = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** @returns false if it was not sent */
  target(target: Target): boolean {
    return this.#options.broker.publish(subjects.target(target.function), encodeMessage(target));
  }

  /** What the agent saw and did, for inspection; numbered as the target that it led to. */
  report(agent: Agent, { actions, cpu, memory, containers }: Decision, target: Target): void {
    const { broker, host, boot } = this.#options;
    const report = {
      v: 1,
      function: agent.fn,
      host,
      boot,
      sequence: target.author.sequence,
      manager: agent.manager.name,
      phase: agent.phase,
      step: agent.steps,
      features: agent.features,
      actions,
      ...(agent.reward === null ? {} : { reward: agent.reward }),
      target: { cpu, memory, containers },
    };
    broker.publish(subjects.agentReport(agent.fn), encodeMessage(report));
  }

  /** Publishes a change of the life-cycle phase. */
  changed(fn: string, { from, to, reason }: PhaseChange): void {
    this.#event('lifecycle', fn, { reason: `${from} to ${to}: ${reason}` });
  }

  /** Publishes that a concurrency limit is unsafe, and the limit it returns to. */
  unsafeLimit(fn: string, found: UnsafeLimit, back: number): void {
    this.#event('concurrency', fn, {
      resource: 'concurrency',
      before: found.limit,
      after: back,
      reason: `${unsafeLimitText(found)}; back to ${back}`,
    });
  }

  #event(
    kind: 'lifecycle' | 'concurrency',
    fn: string,
    { reason, ...figures }: Pick<GleanerEvent, 'resource' | 'before' | 'after' | 'reason'>,
  ): void {
    const { broker, clock, host, boot } = this.#options;
    const sender = { host, boot, sequence: ++this.#events, at: clock.wall() };
    const event = {
      v: 1,
      kind,
      function: fn,
      ...sender,
      ...figures,
      reason: reason.slice(0, REASON_MAX),
    };
    broker.publish(subjects.event(kind, fn), encodeMessage(event));
  }
}
