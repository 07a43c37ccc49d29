import { type Broker, subjects } from '../../broker/index.js';
import { encodeMessage, type GleanerEvent, type HostReport } from '../../broker/messages/index.js';
import {
  type Cancel,
  type Clock,
  messageOf,
  millis,
  type Timers,
  timeOfDay,
} from '../../config/index.js';
import { FEATURE_LAYOUT } from '../../rules/index.js';
import {
  amounts,
  closeStep,
  type FunctionRecord,
  hostReport,
  type StepLength,
} from '../control/index.js';
import { slowerThanControl } from '../decision/index.js';
import type { HookParts } from './hook-parts.js';
import type { Modes } from './modes.js';
import type { Pipeline } from './pipeline.js';
import type { UsageReader } from './usage.js';

export interface ReporterSettings extends StepLength {
  readonly host: string;
  readonly boot: string;
}

/** Interval between batches of messages, and least length of a control step. */
const FLUSH_MILLIS = 100;

/** Publishes observations, host reports and events in batches; drops them without NATS. */
export class Reporter {
  readonly #parts: HookParts;
  readonly #usage: UsageReader;
  readonly #modes: Modes;
  #settings: ReporterSettings;
  #alarmed: ReadonlySet<string> = new Set();
  readonly #clock: Clock;
  readonly #due = new Set<FunctionRecord>();
  /** Functions whose step is not empty, in the order in which the steps began. */
  readonly #begun = new Set<FunctionRecord>();
  #cancelFlushes: Cancel | null = null;
  #timers: Timers | null = null;
  #cancelReports: Cancel | null = null;
  #broker: Broker | null = null;
  #sequence = 0;
  published = 0;
  dropped = 0;
  #pipeline: Pipeline | null = null;
  /** CPU used, and the time, at the last host report. */
  #reportedCpu = 0;
  #reportedAt = Number.NaN;

  constructor(parts: HookParts, usage: UsageReader, modes: Modes, settings: ReporterSettings) {
    this.#usage = usage;
    this.#parts = parts;
    this.#modes = modes;
    this.#settings = settings;
    this.#clock = parts.clock;
  }

  start(timers: Timers, pipeline: Pipeline, broker: Broker | null): void {
    this.#pipeline = pipeline;
    this.#broker = broker;
    this.#timers = timers;
    this.#cancelFlushes = timers.every(millis(FLUSH_MILLIS), () => this.flush());
    this.#startReports();
  }

  /** Changes the length of steps, from the next one on, and of the time between host reports. */
  configure(steps: StepLength): void {
    const { stepMillis } = this.#settings;
    this.#settings = { ...this.#settings, ...steps };
    if (steps.stepMillis === stepMillis || this.#timers === null) return;
    // At once: the aggregator waits for the next one by the interval of the last.
    this.#reportHost();
    this.#startReports();
  }

  stop(): void {
    this.#timers = null;
    this.#cancelFlushes?.();
    this.#cancelReports?.();
  }

  #startReports(): void {
    this.#cancelReports?.();
    const interval = millis(this.#settings.stepMillis);
    this.#cancelReports = this.#timers!.every(interval, () => this.#reportHost());
  }

  /** After each activation: a few comparisons, no message. */
  stepped(fn: FunctionRecord): void {
    this.#begun.add(fn);
    if (fn.step.isFull(this.#settings)) this.#due.add(fn);
  }

  flush(): void {
    const now = this.#clock.monotonic();
    for (const fn of this.#begun) {
      if (now < fn.step.closesAt(this.#settings)) break;
      this.#due.add(fn);
    }
    for (const fn of this.#due) this.#observe(fn, now);
    this.#due.clear();
    for (const experiences of this.#parts.experiences.batches())
      this.#send(subjects.experiences(this.#settings.host), {
        v: 1,
        ...this.#sender(),
        layout: FEATURE_LAYOUT,
        experiences,
      });
    for (const event of this.#parts.events.take()) {
      const message: GleanerEvent = {
        v: 1,
        ...event,
        ...this.#sender(),
        at: timeOfDay(this.#clock, this.#clock.wall()),
      };
      this.#send(subjects.event(event.kind, event.function), message);
    }
  }

  #reportHost(): void {
    const now = this.#clock.monotonic();
    const { decider, functions, containers } = this.#parts;
    const { controller, tracker } = this.#pipeline!;
    const state = {
      containers: containers.size,
      running: tracker.running,
      mode: this.#modes.global,
    };
    this.#send(subjects.hostReport(this.#settings.host), {
      ...hostReport(this.#sender(), decider, controller.load, functions.values(), state, now),
      ...this.#used(),
      interval: this.#settings.stepMillis,
    });
    this.#raiseAlarm();
  }

  /** Reports functions that are slower under Gleaner than in their control arm. */
  #raiseAlarm(): void {
    const { decider, log, clock, events } = this.#parts;
    const worse = [...decider.functions.all()].filter(slowerThanControl).map((fn) => fn.action);
    for (const action of worse) {
      if (!this.#alarmed.has(action))
        events.push({ kind: 'safeguard', function: action, reason: 'worse_than_nothing' });
    }
    this.#alarmed = new Set(worse);
    if (worse.length === 0) return;
    const hint = 'run `gleaner explain`, and set mode recommend until the cause is known';
    const fields = { functions: worse.slice(0, 10), count: worse.length, hint };
    const message = 'functions are slower than their control arm: Gleaner slows them down';
    log.warn('worse_than_nothing', clock.monotonic(), fields, message);
  }

  /** CPU used since the last report, and memory in use; empty in the first report. */
  #used(): Pick<HostReport, 'used'> {
    const now = this.#clock.monotonic();
    const total = this.#usage.usedCpu;
    const span = now - this.#reportedAt;
    const busy = total - this.#reportedCpu;
    this.#reportedAt = now;
    this.#reportedCpu = total;
    if (!(span > 0)) return {};
    let memory = 0;
    for (const { sample } of this.#parts.containers.values()) memory += sample.workingSet;
    // us / ms = millicores.
    return { used: amounts(busy / span, memory) };
  }

  #observe(fn: FunctionRecord, now: number): void {
    this.#begun.delete(fn);
    const message = closeStep(fn, this.#settings, this.#parts.decider, now);
    if (message !== null) this.#send(subjects.observation(fn.action), message);
  }

  #sender(): { host: string; boot: string; sequence: number } {
    return { host: this.#settings.host, boot: this.#settings.boot, sequence: this.#sequence++ };
  }

  #send(subject: string, message: object): void {
    try {
      if (this.#broker?.publish(subject, encodeMessage(message))) this.published++;
      else this.dropped++;
    } catch (error) {
      this.dropped++;
      const fields = { error: messageOf(error) };
      const now = this.#clock.monotonic();
      this.#parts.log.warn('publish', now, fields, 'a message cannot be published');
    }
  }
}
