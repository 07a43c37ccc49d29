import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Broker, hostNameFrom, type Logger, RateLimitedLog } from '../../broker/index.js';
import type { Inspection } from '../../broker/services/index.js';
import { type Config, mebibytes, messageOf, type Random, timeOfDay } from '../../config/index.js';
import { type Explanation, HostController, targetRules } from '../control/index.js';
import {
  Decider,
  decisionSettings,
  type HostCapacity,
  HostWeights,
  MemoryHeadroom,
} from '../decision/index.js';
import { unrestored } from '../host/cgroup/index.js';
import { HookLock } from '../host/lock/index.js';
import type { Bridge, Platform } from '../host/ports/index.js';
import { AuditLog } from './audit.js';
import { appendToAudit, restoreLines } from './audit-restore.js';
import { HookBus } from './bus.js';
import { ContainerEventHandler } from './container-event-handler.js';
import { type Container, ContainerRegistry } from './containers.js';
import { Counters } from './counters.js';
import type { UnidentifiedInits } from './failed-inits.js';
import { FunctionRegistry } from './functions.js';
import { Hook, type HookFigures, type InspectRequest, type RestoreResult } from './hook.js';
import type { HookParts } from './hook-parts.js';
import { KillSwitch } from './kill-switch.js';
import { LimitApplier } from './limit-applier.js';
import { LimitedContainers, restoreUnmanaged } from './limited-containers.js';
import { Modes } from './modes.js';
import { Pipeline } from './pipeline.js';
import { PolicyTable } from './policies.js';
import { EventQueue, ExperienceQueue } from './queues.js';
import { Reporter } from './reporter.js';
import { HostReports } from './reports.js';
import { Sampler } from './sampler.js';
import { TargetReceiver } from './targets.js';
import { UsageReader } from './usage.js';

export interface HookOptions {
  readonly platform: Platform;
  /** Not closed by the hook. Null: no NATS, only local policies. */
  readonly broker: Broker | null;
  readonly config: Config;
  readonly logger: Logger;
  readonly random: Random;
  /** Product version, three numbers with dots. */
  readonly version?: string;
  /** Identifier of this start. Default: random. */
  readonly boot?: string;
  /** Called about once a second from the sampling loop, for a watchdog. */
  readonly heartbeat?: () => void;
}

export interface RunningHook {
  /** Stops deciding, restores every changed limit, flushes the audit log, closes everything. */
  stop(): Promise<void>;
  /**
   * Applies modes, overrides, decision settings and policies; other changes need a restart. Throws
   * a GleanerError, and keeps the old configuration, for an unknown policy.
   */
  reload(config: Config): void;
  /** Sets this process's kill switch, or releases it. */
  toggleKillSwitch(): void;
  inspect(request?: Partial<InspectRequest>): Inspection;
  figures(): HookFigures;
  explain(action: string): readonly Explanation[];
  failedInits(action: string): UnidentifiedInits | null;
  restore(author: string): Promise<RestoreResult>;
}

/**
 * What a node's other pods may lose of a contended CPU: stock action pods have the kernel's least
 * weight, so that any order among them takes from pods at the same level.
 */
const POD_LOSS = 0.05;
/** Rotated audit logs that are kept; `hook.auditRotateMiB` bounds the disk that they take. */
const AUDIT_FILES = 5;
/**
 * Times that a stop waits, ms: for the kernel to lower memory limits, and at the same time for the
 * tcpdumps, which are killed after 1 s; then for a listing of the engine that is under way, and for
 * limits that the kernel or systemd has not taken yet. The audit log has the rest of `all`, after
 * which the part's process ends (runtime/wiring/hook.ts).
 */
const STOP_MILLIS = { memory: 2000, tap: 2000, engine: 1000, limits: 10_000, all: 13_900 };

const pathsOf = ({ hook }: Config) => ({
  lock: join(hook.stateDir, 'hook.lock'),
  killSwitch: join(hook.stateDir, 'kill-switch'),
  audit: join(hook.stateDir, 'audit.jsonl'),
  limited: join(hook.stateDir, 'limited-containers'),
});

/**
 * Runs the hook: every container is adopted or restored, then the tap listens, then decisions
 * begin. Rejects with `GLN_HOOK_LOCKED` if another hook runs, or with the engine's error.
 */
export async function runHook(options: HookOptions): Promise<RunningHook> {
  const { platform, config, logger, broker } = options;
  const paths = pathsOf(config);
  const lock = await HookLock.acquire(paths.lock);
  let engineLock: HookLock | null = null;
  const release = (): void => {
    engineLock?.release();
    lock.release();
  };
  try {
    if (platform.engineLock !== undefined) engineLock = await HookLock.acquire(platform.engineLock);
    return await start(options, release);
  } catch (error) {
    release();
    await platform.tap.stop().catch(() => undefined);
    await platform.engine.stop().catch(() => undefined);
    throw error;
  } finally {
    logger.debug({ broker: broker?.kind ?? 'none', platform: platform.name }, 'hook start ended');
  }
}

async function start(options: HookOptions, release: () => void): Promise<RunningHook> {
  const { platform, broker, config, logger, random } = options;
  const { clock, timers } = platform;
  const paths = pathsOf(config);
  const facts = await platform.engine.facts();
  const { invokerMemoryMiB } = config.decision.memory;
  const capacity: HostCapacity = {
    cpu: facts.cpu,
    allocatableCpu: facts.cpu,
    memory: facts.memory,
    allocatableMemory: invokerMemoryMiB === null ? facts.memory : mebibytes(invokerMemoryMiB),
  };
  const settings = decisionSettings(config.decision, config.hook.sampleMs, capacity);
  const policies = new PolicyTable();
  policies.check(config.functions.overrides);
  const headroom = new MemoryHeadroom(
    capacity.memory,
    settings.memoryReserve,
    mebibytes(invokerMemoryMiB ?? 0),
  );
  const decider = new Decider(
    settings,
    capacity,
    policies.forHost(config.decision.policy),
    random.fork('decider'),
    headroom,
    new HostWeights(config.hook.engine === 'docker' ? undefined : POD_LOSS),
  );
  const log = new RateLimitedLog(logger);
  const counters = new Counters();
  const events = new EventQueue();
  const experiences = new ExperienceQueue();
  decider.experiences = experiences.take;
  const audit = new AuditLog(
    {
      path: paths.audit,
      rotateBytes: config.hook.auditRotateMiB * 1024 * 1024,
      files: AUDIT_FILES,
      timeOfDay: (at) => timeOfDay(clock, at),
    },
    timers,
    logger,
  );
  const identity = {
    host: config.hook.hostName ?? hostNameFrom(hostname()),
    boot: options.boot ?? randomUUID().slice(0, 13),
    version: options.version ?? '0.1.0',
    platform: platform.name,
  };

  let stopping = false;
  const killSwitch = new KillSwitch((killed, source) => {
    logger.warn(
      { killed, source },
      killed ? 'kill switch on: every user limit is restored' : 'kill switch released',
    );
    hook.modesChanged(`kill_switch:${source}`);
  });
  const modes = new Modes(
    config,
    (reason, action) => hook.modesChanged(reason, action),
    (reason, action) => hook.annotated(reason, action),
  );
  const functions: FunctionRegistry = new FunctionRegistry(
    decider,
    modes,
    config.decision.maxFunctions,
    (fn) => policies.forFunction(fn.action, fn.settings, decider.policies),
  );
  const containers = new ContainerRegistry(platform, decider);
  const limited = new LimitedContainers(paths.limited, (error) =>
    log.warn(
      'limited_containers',
      clock.monotonic(),
      { path: paths.limited, error: messageOf(error) },
      'cannot keep the ids of limited containers: `gleaner restore --local` finds them by name',
    ),
  );
  const applier = new LimitApplier(clock, audit, counters, log, limited);
  const parts: HookParts = {
    clock,
    steady: platform.steady ?? clock,
    decider,
    containers,
    functions,
    applier,
    limited,
    counters,
    events,
    audit,
    experiences,
    logger,
    log,
  };
  const usage = new UsageReader();
  const reporter = new Reporter(parts, usage, modes, {
    host: identity.host,
    boot: identity.boot,
    stepActivations: config.hook.stepActivations,
    stepMillis: config.hook.stepS * 1000,
  });
  const silent = (): boolean => stopping || killSwitch.killed;
  let boosts = config.decision.boost.enabled;
  const reports = new HostReports(parts, (fn) => reporter.stepped(fn));
  const controller = new HostController<Container>(decider, {
    functions,
    limits: applier,
    usage,
    reports,
  });
  const pipeline = new Pipeline(
    parts,
    controller,
    () => boosts && !silent() && modes.global === 'enforce',
  );

  let bridges: readonly Bridge[] = [];
  let tapping = false;
  const watch = (): void => {
    pipeline.watching(bridges);
    platform.tap.watch(bridges);
  };
  const containerEvents = new ContainerEventHandler(
    parts,
    pipeline,
    config.hook.containerPrefix,
    (now) => {
      bridges = now;
      if (tapping) watch();
    },
  );
  const sampler = new Sampler(
    {
      parts,
      pipeline,
      usage,
      containerEvents,
      mayWrite: () => !silent(),
      memoryInUse: () => platform.usage.hostMemoryInUse(),
      // Among a node's other pods, weights above kubelet's would take from them.
      siblingFactor: () =>
        config.hook.engine === 'kubernetes'
          ? 1
          : (platform.limits.siblingFactor?.() ?? Number.POSITIVE_INFINITY),
      heartbeat: options.heartbeat ?? (() => undefined),
    },
    config.hook.sampleMs,
  );
  const targets = new TargetReceiver(
    targetRules(identity, capacity, config.decision.targetStaleMs),
    clock,
    new RateLimitedLog(logger),
    (action) => functions.get(action),
    (fn, target, rules, now) => controller.onSharedPeak(fn, target, rules, now),
  );
  const hook: Hook = new Hook(
    {
      parts,
      pipeline,
      reports,
      containerEvents,
      sampler,
      modes,
      killSwitch,
      policies,
      targets,
      reporter,
      policyNames: config.decision.policy,
    },
    identity,
  );

  platform.limits.onScopeFailure?.((container, error) => {
    counters.scopeFailures++;
    const fields = { container: container.id, error: messageOf(error) };
    log.warn('systemd_scope', clock.monotonic(), fields, 'systemd refused a limit and may undo it');
  });
  killSwitch.follow(paths.killSwitch, timers, (error) =>
    logger.error(
      { path: paths.killSwitch, error: messageOf(error) },
      'the kill switch cannot be read: user limits apply until it can',
    ),
  );
  // The tap takes addresses but listens on no bridge: decisions begin once all are adopted.
  platform.tap.start(pipeline);
  await platform.engine.start(containerEvents);
  logger.info(
    { containers: containers.size, mode: modes.global, boot: identity.boot },
    'containers adopted',
  );
  containerEvents.live();
  const restoring = restoreUnmanaged(limited, (id) => containers.get(id) !== undefined, platform)
    .then((report) => {
      const names = report.restored.map(({ container }) => container.name);
      const left = unrestored(report);
      if (names.length + left.length === 0) return;
      const by = { who: 'restart', why: 'found_changed' };
      appendToAudit(paths.audit, restoreLines(report, by, clock.wall()));
      const message =
        'containers that an earlier hook limited are not managed: user limits restored';
      logger.warn({ containers: names, not_restored: left }, message);
    })
    .catch((error: unknown) => {
      const message = 'cannot examine the containers that an earlier hook limited';
      logger.warn({ error: messageOf(error) }, message);
    });
  tapping = true;
  watch();
  sampler.start(timers);
  reporter.start(timers, pipeline, broker);
  const bus = broker === null ? null : new HookBus(hook, broker);
  bus?.start(identity.version, targets);

  const waitFor = (step: string, work: Promise<unknown>, millis: number): Promise<void> =>
    inStop(step, work, millis, logger);
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    const begun = performance.now();
    stopping = true;
    killSwitch.close();
    // After this, no function is enforced.
    functions.refresh(true);
    for (const container of containers.values())
      pipeline.tracker.endContainer(container, 'stopped');
    hook.restoreNow('restore', 'stopped');
    // Before anything is awaited: no message may change modes, and so enforce again.
    bus?.stop();
    sampler.stop();
    await Promise.all([
      waitFor('memory_limits', applier.settled(), STOP_MILLIS.memory),
      waitFor('tap', platform.tap.stop(), STOP_MILLIS.tap),
    ]);
    reporter.flush();
    reporter.stop();
    await waitFor('engine', platform.engine.stop(), STOP_MILLIS.engine);
    const changed = hook.restoreNow('restore', 'stopped');
    // systemd resets other limits while it takes memory limits; they are written again.
    const settled = platform.limits.settled?.() ?? Promise.resolve();
    const all = Promise.all([applier.settled(), settled, restoring]);
    await waitFor('limits', all, STOP_MILLIS.limits);
    const { length } = changed.filter((each) => !each.ended && applier.isChanged(each));
    if (length > 0)
      logger.warn(
        { containers: length },
        'limits of some containers differ from the user limits; run `gleaner restore`',
      );
    containers.close();
    await waitFor('audit_log', audit.close(), STOP_MILLIS.all - (performance.now() - begun));
    limited.close();
    release();
  };

  return {
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
    reload: (next) => {
      // It would sample and enforce again.
      if (stopping) return;
      policies.check(next.functions.overrides);
      decider.settings = decisionSettings(next.decision, next.hook.sampleMs, capacity);
      boosts = next.decision.boost.enabled;
      sampler.start(timers, next.hook.sampleMs);
      reporter.configure({
        stepActivations: next.hook.stepActivations,
        stepMillis: next.hook.stepS * 1000,
      });
      targets.configure(next.decision.targetStaleMs);
      modes.configure(next);
      hook.usePolicies(next.decision.policy);
      logger.info({ mode: modes.global }, 'configuration reloaded');
    },
    toggleKillSwitch: () => killSwitch.toggle('signal'),
    inspect: (request) => hook.inspect(request),
    figures: () => hook.figures(),
    explain: (action) => hook.explain(action),
    failedInits: (action) => hook.failedInits(action),
    restore: (author) => hook.restoreAll(`operator:${author}`, 'asked'),
  };
}

/**
 * Waits for one step of a stop, which continues if that fails or takes longer than `millis`. In
 * real time also on a simulated platform, because the steps wait for the kernel.
 */
async function inStop(
  step: string,
  work: Promise<unknown>,
  millis: number,
  logger: Logger,
): Promise<void> {
  const ended = new AbortController();
  const { signal } = ended;
  const late = sleep(millis, `not done after ${millis / 1000} s`, { signal }).catch(() => null);
  const problem = await Promise.race([work.then(() => null, messageOf), late]);
  ended.abort();
  if (problem !== null)
    logger.warn({ step, problem }, 'a step of the stop failed: the stop continues');
}
