import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../broker/index.js';
import type { Inspection } from '../../broker/services/index.js';
import { type Config, messageOf } from '../../config/index.js';
import type { Explanation } from '../control/index.js';
import { decisionSettings } from '../decision/index.js';
import { LimitsNotRestoredError, unrestored } from '../host/cgroup/index.js';
import { HookLock } from '../host/lock/index.js';
import { appendToAudit, restoreLines } from './audit-restore.js';
import { type BuiltHook, buildHook, type HookOptions, pathsOf } from './build-hook.js';
import { HookBus, NAMED_KEYS } from './bus.js';
import type { UnidentifiedInits } from './failed-inits.js';
import type { HookFigures, InspectRequest, RestoreResult } from './hook.js';
import { recordHook, removeHookRecord } from './hook-record.js';
import { restoreUnmanaged } from './limited-containers.js';
import { RememberedModes } from './remembered-modes.js';

export interface RunningHook {
  /**
   * Stops deciding, restores every changed limit, flushes the audit log, closes everything. Rejects
   * afterwards with `GLN_LIMITS_NOT_RESTORED` if a container does not have its user limits.
   */
  stop(): Promise<void>;
  /**
   * Applies modes, overrides, decision settings and policies; other changes need a restart. Throws
   * a GleanerError, and keeps the old configuration, for an unknown policy.
   */
  reload(config: Config): void;
  /** Views show `problem`: a newer configuration was refused. Null: the newest one was taken. */
  reloaded(problem: string | null): void;
  /** Sets this process's kill switch, or releases it. */
  toggleKillSwitch(): void;
  inspect(request?: Partial<InspectRequest>): Inspection;
  figures(): HookFigures;
  explain(action: string): readonly Explanation[];
  failedInits(action: string): UnidentifiedInits | null;
  restore(author: string): Promise<RestoreResult>;
}

/**
 * Times that a stop waits, ms: for the kernel to lower memory limits, and at the same time for the
 * tcpdumps, which are killed after 1 s, and the file of stored modes; then for a listing of the
 * engine that is under way, and for limits that the kernel or systemd has not taken yet. The audit
 * log has the rest of `all`, after which the part's process ends (runtime/wiring/hook.ts).
 */
const STOP_MILLIS = {
  memory: 2000,
  tap: 2000,
  modes: 2000,
  engine: 1000,
  limits: 10_000,
  all: 13_900,
};

/**
 * Runs the hook: every container is adopted or restored, then the tap listens, then decisions
 * begin. Rejects with `GLN_HOOK_LOCKED` if another hook runs, or with the engine's error.
 */
export async function runHook(options: HookOptions): Promise<RunningHook> {
  const { platform, config, logger, broker } = options;
  const lock = await HookLock.acquire(pathsOf(config).lock);
  let engineLock: HookLock | null = null;
  const release = (): void => {
    engineLock?.release();
    lock.release();
  };
  let built: BuiltHook | null = null;
  try {
    if (platform.engineLock !== undefined) {
      engineLock = await HookLock.acquire(platform.engineLock);
      recordHook(platform.engineLock, options);
    }
    built = buildHook(options, await platform.engine.facts());
    await connect(built, options);
    return begin(built, options, release);
  } catch (error) {
    await abandon(built, options);
    release();
    throw error;
  } finally {
    logger.debug({ broker: broker?.kind ?? 'none', platform: platform.name }, 'hook start ended');
  }
}

/** Adopts or restores the containers that run. */
async function connect({ hook }: BuiltHook, { platform, config }: HookOptions): Promise<void> {
  const { parts, pipeline, killSwitch, containerEvents, modes } = hook.controls;
  const { counters, log, clock, logger, containers } = parts;
  platform.limits.onScopeFailure?.((container, error) => {
    counters.scopeFailures++;
    const fields = { container: container.id, error: messageOf(error) };
    log.warn('systemd_scope', clock.monotonic(), fields, 'systemd refused a limit and may undo it');
  });
  const path = pathsOf(config).killSwitch;
  killSwitch.follow(path, platform.timers, {
    changed: (change) => hook.killSwitched(change),
    unreadable: (error) =>
      logger.error(
        { path, error: messageOf(error) },
        'the kill switch cannot be read: user limits apply until it can',
      ),
  });
  // The tap takes addresses but listens on no bridge: decisions begin once all are adopted.
  platform.tap.start(pipeline);
  await platform.engine.start(containerEvents);
  logger.info(
    { containers: containers.size, mode: modes.global, boot: hook.identity.boot },
    'containers adopted',
  );
  containerEvents.live();
}

/** A start that failed ends like a stop: containers that it found limited may be half restored. */
async function abandon(built: BuiltHook | null, options: HookOptions): Promise<void> {
  const { platform, logger } = options;
  if (built !== null) {
    await stop(built, options, Promise.resolve(), null).catch((error: unknown) =>
      logger.error({ error: messageOf(error) }, 'a start that failed could not be undone'),
    );
    return;
  }
  await inStop('tap', platform.tap.stop(), STOP_MILLIS.tap, logger);
  await inStop('engine', platform.engine.stop(), STOP_MILLIS.engine, logger);
}

/** Listens and decides, until {@link RunningHook.stop}. */
function begin(built: BuiltHook, options: HookOptions, release: () => void): RunningHook {
  const { hook } = built;
  const { platform, broker } = options;
  const { pipeline, containerEvents, sampler, reporter, targets, killSwitch } = hook.controls;
  const restoring = restoreLeftBehind(built, options);
  containerEvents.listen();
  sampler.start(platform.timers);
  reporter.start(platform.timers, pipeline, broker);
  const bus = broker === null ? null : new HookBus(hook, broker, rememberedModes(built, options));
  if (broker === null) warnOfModes(options);
  bus?.start(hook.identity.version, targets, options.failure);
  let stopped: Promise<void> | null = null;
  return {
    stop: () => {
      stopped ??= stop(built, options, restoring, bus)
        // After a stop that left limits, a restore by the supervisor needs it.
        .then(() => removeHookRecord(platform.engineLock, options.logger))
        .finally(release);
      return stopped;
    },
    reload: (next) => reload(built, options, next),
    reloaded: (problem) => {
      hook.configRejected = problem;
    },
    toggleKillSwitch: () => killSwitch.toggle('signal'),
    inspect: (request) => hook.inspect(request),
    figures: () => hook.figures(),
    explain: (action) => hook.explain(action),
    failedInits: (action) => hook.failedInits(action),
    restore: (author) => hook.restoreAll(`operator:${author}`, 'asked'),
  };
}

function rememberedModes({ hook }: BuiltHook, { config, platform }: HookOptions): RememberedModes {
  const { log, clock } = hook.controls.parts;
  const path = pathsOf(config).modes;
  const messages = {
    read: 'the stored modes of the last run cannot be read: user limits apply until NATS has them',
    write: 'cannot keep the stored modes: a start without NATS applies those of the file, or none',
  };
  return new RememberedModes(path, platform.timers, (what, error) => {
    const fields = { path, error: messageOf(error) };
    log.warn(`remembered_modes_${what}`, clock.monotonic(), fields, messages[what]);
  });
}

/** An operator who no longer configures NATS could not release what was stored there. */
function warnOfModes({ config, platform, logger }: HookOptions): void {
  const path = pathsOf(config).modes;
  const keys = new RememberedModes(path, platform.timers, () => undefined).holding();
  if (keys.length > 0)
    logger.warn(
      { path, keys: keys.slice(0, NAMED_KEYS), count: keys.length },
      'the kill switch or pauses stored in the last run are not in force: NATS is not ' +
        'configured; remove modes.json to end this warning',
    );
}

/** Restores containers that an earlier hook limited and that this one does not manage. */
async function restoreLeftBehind(
  { hook }: BuiltHook,
  { platform, config, logger }: HookOptions,
): Promise<void> {
  const { limited, containers, clock } = hook.controls.parts;
  try {
    const isManaged = (id: string): boolean => containers.get(id) !== undefined;
    const report = await restoreUnmanaged(limited, isManaged, platform);
    const names = report.restored.map(({ container }) => container.name);
    const left = unrestored(report);
    if (names.length + left.length === 0) return;
    const by = { who: 'restart', why: 'found_changed' };
    appendToAudit(pathsOf(config).audit, restoreLines(report, by, clock.wall()));
    const message = 'containers that an earlier hook limited are not managed: user limits restored';
    logger.warn({ containers: names, not_restored: left }, message);
  } catch (error) {
    const message = 'cannot examine the containers that an earlier hook limited';
    logger.warn({ error: messageOf(error) }, message);
  }
}

function reload(
  { hook, switches, capacity }: BuiltHook,
  { platform }: HookOptions,
  next: Config,
): void {
  // It would sample and enforce again.
  if (switches.stopping) return;
  const { parts, policies, sampler, reporter, targets, modes } = hook.controls;
  policies.check(next.functions.overrides);
  parts.decider.settings = decisionSettings(next.decision, next.hook.sampleMs, capacity);
  switches.boosts = next.decision.boost.enabled;
  sampler.start(platform.timers, next.hook.sampleMs);
  reporter.configure({
    stepActivations: next.hook.stepActivations,
    stepMillis: next.hook.stepS * 1000,
  });
  targets.configure(next.decision.targetStaleMs);
  hook.configure(next);
  parts.logger.info({ mode: modes.global }, 'configuration reloaded');
}

async function stop(
  { hook, switches }: BuiltHook,
  { platform, logger }: HookOptions,
  restoring: Promise<void>,
  bus: HookBus | null,
): Promise<void> {
  const { parts, pipeline, sampler, killSwitch, reporter } = hook.controls;
  const { applier, audit, modeAudit, containers, functions, limited } = parts;
  const waitFor = (step: string, work: Promise<unknown>, millis: number): Promise<void> =>
    inStop(step, work, millis, logger);
  const begun = performance.now();
  switches.stopping = true;
  killSwitch.close();
  // After this, no function is enforced.
  functions.refresh(true);
  for (const container of containers.values()) pipeline.tracker.endContainer(container, 'stopped');
  hook.restoreNow('restore', 'stopped');
  // Before anything is awaited: no message may change modes, and so enforce again.
  const remembered = bus?.stop() ?? Promise.resolve();
  sampler.stop();
  await Promise.all([
    waitFor('memory_limits', applier.settled(), STOP_MILLIS.memory),
    waitFor('tap', platform.tap.stop(), STOP_MILLIS.tap),
    waitFor('stored_modes', remembered, STOP_MILLIS.modes),
  ]);
  reporter.flush();
  reporter.stop();
  await waitFor('engine', platform.engine.stop(), STOP_MILLIS.engine);
  const changed = hook.restoreNow('restore', 'stopped');
  // systemd resets other limits while it takes memory limits; they are written again.
  const settled = platform.limits.settled?.() ?? Promise.resolve();
  const all = Promise.all([applier.settled(), settled, restoring]);
  await waitFor('limits', all, STOP_MILLIS.limits);
  const left = changed.filter((each) => !each.ended && applier.isChanged(each));
  const names = left.map(({ info }) => info.name);
  containers.close();
  const closed = Promise.all([audit.close(), modeAudit.close()]);
  await waitFor('audit_log', closed, STOP_MILLIS.all - (performance.now() - begun));
  limited.close();
  // The unclean exit makes the supervisor restore without the hook.
  if (names.length > 0) throw new LimitsNotRestoredError(names.join(', '));
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
