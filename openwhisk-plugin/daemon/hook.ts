import type { z } from 'zod';
import type { ActionSettings, PolicyParameters } from '../../broker/messages/index.js';
import {
  type HostView,
  type hookService,
  type Inspection,
  NAMED_CONTAINERS,
  PAGE_CONTAINERS,
  PAGE_FUNCTIONS,
} from '../../broker/services/index.js';
import {
  type Bytes,
  type Config,
  type Micros,
  type Millicores,
  type Mode,
  systemClock,
  timeOfDay,
} from '../../config/index.js';
import { comparisonSums } from '../../rules/index.js';
import type { Explanation, FunctionRecord } from '../control/index.js';
import { hostSlowerThanControl } from '../decision/index.js';
import type { ContainerEventHandler } from './container-event-handler.js';
import type { Container } from './containers.js';
import type { UnidentifiedInits } from './failed-inits.js';
import type { HookParts } from './hook-parts.js';
import { containerSums, containerViews, functionFigures, functionView } from './inspect.js';
import type { ChangedBy, KillSwitch, KillSwitchChange } from './kill-switch.js';
import type { Modes } from './modes.js';
import type { Pipeline } from './pipeline.js';
import type { PolicyTable } from './policies.js';
import type { Reporter } from './reporter.js';
import type { HostReports } from './reports.js';
import type { Sampler } from './sampler.js';
import type { TargetReceiver } from './targets.js';

/** The parts that the service, the signals and the CLI read and control. */
export interface HookControls {
  readonly parts: HookParts;
  readonly pipeline: Pipeline;
  readonly reports: Pick<HostReports, 'decisions'>;
  readonly containerEvents: ContainerEventHandler;
  readonly sampler: Sampler;
  readonly modes: Modes;
  readonly killSwitch: KillSwitch;
  readonly policies: PolicyTable;
  readonly targets: TargetReceiver;
  readonly reporter: Reporter;
  readonly policyNames: Config['decision']['policy'];
}

export interface HookIdentity {
  readonly host: string;
  readonly boot: string;
  readonly version: string;
  readonly platform: string;
}

export interface RestoreResult {
  /** Containers whose limits differed from their user's, and those of them that still do. */
  readonly restored: number;
  readonly failed: number;
  readonly examined: number;
  /** Those that still do, and those whose cgroups cannot be opened, with the reason. */
  readonly notRestored: string[];
}

export type InspectRequest = z.output<typeof hookService.inspect.request>;

/** Of a change of mode, as the audit log has it. */
interface ModeCause {
  readonly who: string;
  readonly why: string;
  readonly reason: string;
}

const causeOf = (why: string, { author, reason }: ChangedBy): ModeCause => ({
  who: `operator:${author}`,
  why,
  reason,
});

/** Figures for metrics. */
export type HookFigures = ReturnType<Hook['figures']>;

/**
 * How long a comparison over all functions is shown, ms. It takes milliseconds with 10,000 of them,
 * during which the tap waits, and people and scrapes may ask several times a second.
 */
const COMPARED_MILLIS = 5000;

type HostCompared = Pick<HostView, 'slowerThanControl' | 'comparison'>;

/** Views of the hook, and its controls: modes, pauses, kill switch, restore. */
export class Hook {
  readonly controls: HookControls;
  readonly identity: HookIdentity;
  /** Why the newest configuration was refused; null: it was not. */
  configRejected: string | null = null;
  #policyNames: Config['decision']['policy'];
  /** Real time, also on a simulated host, because people read it. */
  readonly #startedAt = systemClock.monotonic();
  #compared: HostCompared = { slowerThanControl: false };
  #comparedAt = Number.NEGATIVE_INFINITY;

  constructor(controls: HookControls, identity: HookIdentity) {
    this.controls = controls;
    this.identity = identity;
    this.#policyNames = controls.policyNames;
  }

  hostView(): HostView {
    const { parts, pipeline, containerEvents, modes, killSwitch } = this.controls;
    const { capacity, cpuPool, memoryPool } = parts.decider;
    return {
      ...this.identity,
      mode: modes.global,
      killed: killSwitch.killed,
      killedBy: [...killSwitch.sources()],
      killReasons: [...killSwitch.reasons()],
      unreadableModes: modes.unreadable,
      isEngineReachable: containerEvents.isEngineReachable,
      configRejected: this.configRejected,
      tap: pipeline.tap.views(),
      audit: {
        cause: parts.audit.failure,
        waiting: parts.audit.waiting,
        dropped: parts.audit.dropped,
      },
      cpu: capacity.cpu,
      memory: capacity.memory,
      poolCpu: cpuPool.free as Millicores,
      poolMemory: memoryPool.free as Bytes,
      activations: parts.counters.ended,
      harvestedCpuSeconds: parts.counters.harvested / 1000,
      acceleratedCpuSeconds: parts.counters.accelerated / 1000,
      savedSeconds: parts.counters.saved / 1000,
      running: pipeline.tracker.running,
      containers: parts.containers.size,
      ...this.#comparedNow(),
      upSeconds: (systemClock.monotonic() - this.#startedAt) / 1000,
    };
  }

  #comparedNow(): HostCompared {
    const { clock, decider } = this.controls.parts;
    const now = clock.monotonic();
    if (now - this.#comparedAt >= COMPARED_MILLIS) {
      this.#comparedAt = now;
      this.#compared = {
        slowerThanControl: hostSlowerThanControl(decider.functions.all()),
        comparison: comparisonSums(decider.functions.all()),
      };
    }
    return this.#compared;
  }

  functionNames(): readonly string[] {
    return [...this.controls.parts.functions.values()].map((fn) => fn.action);
  }

  /** The functions with the most activations, or a page by name, or one function. */
  inspect(request: Partial<InspectRequest> = {}): Inspection {
    const { parts, pipeline, containerEvents, policies, targets, reporter } = this.controls;
    const { audit } = parts;
    const { containers = PAGE_CONTAINERS } = request;
    const page = this.#page(request);
    const sums = containerSums(parts, page);
    return {
      host: this.hostView(),
      total: parts.functions.size,
      functions: page.map((fn) => functionView(fn, parts, sums.get(fn))!),
      containers: containerViews(parts, containers, request.function),
      unmanaged: parts.containers.unmanaged().slice(0, containers),
      counters: {
        ...parts.counters,
        lagMicros: pipeline.lags.quantiles(),
        ignoredContainers: containerEvents.ignored,
      },
      events: parts.events.counts(),
      targets: {
        accepted: targets.accepted,
        elsewhere: targets.elsewhere,
        refused: { ...targets.refused },
      },
      policies: [...policies.summary()],
      messages: { published: reporter.published, dropped: reporter.dropped + parts.events.dropped },
      audit: { written: audit.written, dropped: audit.dropped },
    };
  }

  /** Everything that a scrape reads; valid until the event loop continues. */
  figures() {
    const { parts, pipeline, reports, sampler, targets, reporter } = this.controls;
    const { audit } = parts;
    return {
      host: this.hostView(),
      counters: parts.counters,
      limits: parts.applier.tally,
      decisions: reports.decisions,
      lag: pipeline.lag,
      steps: sampler.steps.histograms,
      events: parts.events.counts(),
      targets: { accepted: targets.accepted, refused: targets.refused },
      messages: { published: reporter.published, dropped: reporter.dropped + parts.events.dropped },
      audit,
      unmanaged: parts.containers.unmanaged().length,
      commonWeight: parts.decider.shares.commonWeight,
      functions: functionFigures(parts),
    };
  }

  #page({
    function: action,
    offset,
    limit = PAGE_FUNCTIONS,
  }: Partial<InspectRequest>): readonly FunctionRecord[] {
    const { functions } = this.controls.parts;
    const known = (record: FunctionRecord | undefined): record is FunctionRecord =>
      record?.revision != null;
    if (action !== undefined) return [functions.get(action)].filter(known);
    const all = functions.byName.filter(known);
    if (offset !== undefined) return all.slice(offset, offset + limit);
    return all.sort((a, b) => b.activations - a.activations).slice(0, limit);
  }

  /** Newest first; empty for an unknown function. */
  explain(action: string): readonly Explanation[] {
    const latest = this.controls.parts.functions.get(action)?.explanations.latest() ?? [];
    return latest.map((one) => ({
      ...one,
      startedAt: timeOfDay(this.controls.parts.clock, one.startedAt as Micros),
    }));
  }

  /** Failed `/init`s of this name whose activation could not be read. */
  failedInits(action: string): UnidentifiedInits | null {
    const found = this.controls.pipeline.failedInits.of(action);
    return found && { ...found, at: timeOfDay(this.controls.parts.clock, found.at) };
  }

  /** As {@link restoreNow}, and waits until the kernel has reclaimed the memory. */
  async restoreAll(who: string, why: string): Promise<RestoreResult> {
    const { parts } = this.controls;
    const changed = this.restoreNow(who, why);
    await parts.applier.settled();
    const failed = changed.filter((each) => !each.ended && parts.applier.isChanged(each));
    const names = failed.map(({ info }) => info.name);
    for (const { name, reason } of parts.containers.unmanaged()) names.push(`${name} (${reason})`);
    return {
      restored: changed.length,
      failed: failed.length,
      examined: parts.containers.size,
      notRestored: names.slice(0, NAMED_CONTAINERS),
    };
  }

  /** Restores all but reductions of memory limits before it returns. */
  restoreNow(who: string, why: string): Container[] {
    const { parts, pipeline } = this.controls;
    const changed = [...parts.containers.values()].filter(
      (each) => !each.ended && parts.applier.isChanged(each),
    );
    for (const container of changed) pipeline.restore(container, who, why);
    return changed;
  }

  /** One function's mode, or with null all of them. Undefined restores the configured mode. */
  setMode(
    mode: Mode | undefined,
    action: string | null,
    by: ChangedBy,
    isRemembered = false,
  ): void {
    if (this.controls.modes.set(mode, action, isRemembered))
      this.#modesChanged(causeOf('mode_set', by), action);
  }

  pause(action: string, paused: boolean, by: ChangedBy): void {
    if (this.controls.modes.pause(action, paused))
      this.#modesChanged(causeOf(paused ? 'paused' : 'resumed', by), action);
  }

  /**
   * Takes the settings of an action's annotations; null: there are none any more. Those of all
   * actions arrive at the start: only a changed mode of a function of this host is reported.
   */
  annotate(action: string, settings: ActionSettings | null): void {
    const { modes, parts } = this.controls;
    if (!modes.annotate(action, settings) || !parts.functions.refreshOne(action)) return;
    const bad = settings?.unreadable ?? [];
    const reason = bad.length > 0 ? `cannot be read: ${bad.join(', ')}` : '';
    this.#applyModes({ who: 'annotations', why: 'annotations_changed', reason }, action);
  }

  /** Takes the modes and policies of a reloaded configuration. */
  configure(config: Config): void {
    this.controls.modes.configure(config);
    this.#modesChanged({ who: 'configuration', why: 'reloaded', reason: '' }, null);
    this.#policyNames = config.decision.policy;
    this.#choosePolicies();
  }

  /** A source holds the kill switch, or no longer does. */
  killSwitched({ source, held, sources, isSwitched, by }: KillSwitchChange): void {
    const done = held ? 'kill switch on: every user limit is restored' : 'kill switch released';
    const note = held ? 'kill switch held by another source, too' : 'kill switch still held';
    this.controls.parts.logger.warn(
      { killed: sources.length > 0, source, held_by: sources, ...by },
      isSwitched ? done : note,
    );
    if (!isSwitched) return;
    const why = held ? 'kill_switch_on' : 'kill_switch_off';
    const cause = { who: `kill_switch:${source}`, why, reason: by?.reason ?? '' };
    this.#modesChanged(by?.author ? causeOf(why, by) : cause, null);
  }

  /** One function's mode, or with null all of them. */
  #modesChanged(cause: ModeCause, action: string | null): void {
    const { functions } = this.controls.parts;
    if (action === null) functions.refresh(this.controls.killSwitch.killed);
    else functions.refreshOne(action);
    this.#applyModes(cause, action);
  }

  /** Restores containers that are no longer enforced, and reports the change. */
  #applyModes({ who, why, reason }: ModeCause, action: string | null): void {
    const { parts, pipeline, modes, killSwitch } = this.controls;
    pipeline.controller.onModeChanged(
      parts.containers.values(),
      modes.global === 'enforce' && !killSwitch.killed,
      why,
      this.controls.parts.clock.monotonic(),
    );
    const mode = action === null ? modes.global : modes.of(action);
    for (const audit of [parts.audit, parts.modeAudit]) {
      const record = audit.next(parts.clock.wall());
      record.who = who;
      record.why = why;
      record.reason = reason;
      record.resource = 'mode';
      record.action = action ?? '';
      record.mode = mode;
      record.result = killSwitch.killed ? `killed:${killSwitch.sources().join('+')}` : 'active';
    }
    parts.events.push({
      kind: 'mode',
      function: action,
      reason: `${mode} (${why} by ${who}${reason && `: ${reason}`})`.slice(0, 500),
    });
  }

  acceptParameters(parameters: PolicyParameters): void {
    this.controls.policies.accept(parameters);
    this.#choosePolicies();
  }

  #choosePolicies(): void {
    const { parts, policies, killSwitch } = this.controls;
    parts.decider.policies = policies.forHost(this.#policyNames);
    parts.functions.refresh(killSwitch.killed);
  }
}
