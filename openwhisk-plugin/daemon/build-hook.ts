import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Broker, hostNameFrom, type Logger, RateLimitedLog } from '../../broker/index.js';
import { type Config, mebibytes, messageOf, type Random, timeOfDay } from '../../config/index.js';
import { HostController, targetRules } from '../control/index.js';
import {
  Decider,
  decisionSettings,
  type HostCapacity,
  HostWeights,
  MemoryHeadroom,
} from '../decision/index.js';
import type { HostFacts, Platform } from '../host/ports/index.js';
import { AuditLog } from './audit.js';
import { ContainerEventHandler } from './container-event-handler.js';
import { type Container, ContainerRegistry } from './containers.js';
import { Counters } from './counters.js';
import { FunctionRegistry } from './functions.js';
import { Hook, type HookIdentity } from './hook.js';
import type { HookParts } from './hook-parts.js';
import { KillSwitch } from './kill-switch.js';
import { LimitApplier } from './limit-applier.js';
import { LimitedContainers } from './limited-containers.js';
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
  /** The file of `config`, absolute; null: none. */
  readonly configFile?: string | null;
  readonly logger: Logger;
  readonly random: Random;
  /** Product version, three numbers with dots. */
  readonly version?: string;
  /** Identifier of this start. Default: random. */
  readonly boot?: string;
  /** Called about once a second from the sampling loop, for a watchdog. */
  readonly heartbeat?: () => void;
  /** The fault that ends this process; null: it ends in order. */
  readonly failure?: () => string | null;
}

/**
 * What a node's other pods may lose of a contended CPU: stock action pods have the kernel's least
 * weight, so that any order among them takes from pods at the same level.
 */
const POD_LOSS = 0.05;
/** Rotated audit logs that are kept; `hook.auditRotateMiB` bounds the disk that they take. */
const AUDIT_FILES = 5;
/** Some 10,000 changes of mode, and as many in a rotated file. */
const MODE_AUDIT_MIB = 2;
/** Files below `hook.stateDir`. */
export const pathsOf = ({ hook }: Config) => ({
  lock: join(hook.stateDir, 'hook.lock'),
  killSwitch: join(hook.stateDir, 'kill-switch'),
  audit: join(hook.stateDir, 'audit.jsonl'),
  modeAudit: join(hook.stateDir, 'audit-modes.jsonl'),
  limited: join(hook.stateDir, 'limited-containers'),
  modes: join(hook.stateDir, 'modes.json'),
});

function capacityOf(facts: HostFacts, { decision }: Config): HostCapacity {
  const { invokerMemoryMiB } = decision.memory;
  return {
    cpu: facts.cpu,
    allocatableCpu: facts.cpu,
    memory: facts.memory,
    allocatableMemory: invokerMemoryMiB === null ? facts.memory : mebibytes(invokerMemoryMiB),
  };
}

function deciderOf(
  { config, random }: HookOptions,
  capacity: HostCapacity,
  policies: PolicyTable,
): Decider {
  const { decision, hook } = config;
  const settings = decisionSettings(decision, hook.sampleMs, capacity);
  const userMemory = mebibytes(decision.memory.invokerMemoryMiB ?? 0);
  return new Decider(
    settings,
    capacity,
    policies.forHost(decision.policy),
    random.fork('decider'),
    new MemoryHeadroom(capacity.memory, settings.memoryReserve, userMemory),
    new HostWeights(hook.engine === 'docker' ? undefined : POD_LOSS),
  );
}

const identityOf = ({ config, boot, version, platform }: HookOptions): HookIdentity => ({
  host: config.hook.hostName ?? hostNameFrom(hostname()),
  boot: boot ?? randomUUID().slice(0, 13),
  version: version ?? '0.1.0',
  platform: platform.name,
});

/** What all other parts share. */
function sharedParts(
  { platform, config, logger }: HookOptions,
  decider: Decider,
  policies: PolicyTable,
  modes: Modes,
): HookParts {
  const { clock, timers } = platform;
  const paths = pathsOf(config);
  const log = new RateLimitedLog(logger);
  const counters = new Counters();
  const functions: FunctionRegistry = new FunctionRegistry(
    decider,
    modes,
    config.decision.maxFunctions,
    (fn) => policies.forFunction(fn.action, fn.settings, decider.policies),
  );
  const auditLog = (path: string, rotateMiB: number, files: number): AuditLog =>
    new AuditLog(
      { path, rotateBytes: mebibytes(rotateMiB), files, timeOfDay: (at) => timeOfDay(clock, at) },
      timers,
      logger,
    );
  const audit = auditLog(paths.audit, config.hook.auditRotateMiB, AUDIT_FILES);
  const modeAudit = auditLog(paths.modeAudit, MODE_AUDIT_MIB, 1);
  const limited = new LimitedContainers(paths.limited, (error) =>
    log.warn(
      'limited_containers',
      clock.monotonic(),
      { path: paths.limited, error: messageOf(error) },
      'cannot keep the ids of limited containers: `gleaner restore --local` finds them by name',
    ),
  );
  const experiences = new ExperienceQueue();
  decider.experiences = experiences.take;
  return {
    clock,
    steady: platform.steady ?? clock,
    decider,
    containers: new ContainerRegistry(platform, decider),
    functions,
    applier: new LimitApplier(clock, audit, counters, log, limited),
    limited,
    counters,
    events: new EventQueue(),
    audit,
    modeAudit,
    experiences,
    logger,
    log,
  };
}

export type BuiltHook = ReturnType<typeof buildHook>;

/** All parts of a hook. Nothing runs yet but the timer of the audit log. */
export function buildHook(options: HookOptions, facts: HostFacts) {
  const { platform, config, logger } = options;
  const capacity = capacityOf(facts, config);
  const policies = new PolicyTable();
  policies.check(config.functions.overrides);
  const decider = deciderOf(options, capacity, policies);
  const identity = identityOf(options);
  const switches = { stopping: false, boosts: config.decision.boost.enabled };

  const killSwitch = new KillSwitch();
  const modes = new Modes(config);
  const parts = sharedParts(options, decider, policies, modes);
  const { clock, functions } = parts;
  const usage = new UsageReader();
  const reporter = new Reporter(parts, usage, modes, {
    host: identity.host,
    boot: identity.boot,
    stepActivations: config.hook.stepActivations,
    stepMillis: config.hook.stepS * 1000,
  });
  const reports = new HostReports(parts, (fn) => reporter.stepped(fn));
  const limits = parts.applier;
  const controller = new HostController<Container>(decider, { functions, limits, usage, reports });
  const mayWrite = (): boolean => !switches.stopping && !killSwitch.killed;
  const pipeline = new Pipeline(
    parts,
    controller,
    () => switches.boosts && mayWrite() && modes.global === 'enforce',
  );
  const { containerPrefix } = config.hook;
  const containerEvents = new ContainerEventHandler(parts, pipeline, platform.tap, containerPrefix);
  const sampler = new Sampler(
    {
      parts,
      pipeline,
      usage,
      containerEvents,
      mayWrite,
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
  const hook = new Hook(
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
  return {
    hook,
    /** Read at each write and boost. */
    switches,
    capacity,
  };
}
