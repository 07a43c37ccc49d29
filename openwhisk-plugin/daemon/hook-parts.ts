import type { Logger, RateLimitedLog } from '../../broker/index.js';
import type { Clock } from '../../config/index.js';
import type { Decider } from '../decision/index.js';
import type { AuditLog } from './audit.js';
import type { ContainerRegistry } from './containers.js';
import type { Counters } from './counters.js';
import type { FunctionRegistry } from './functions.js';
import type { LimitApplier } from './limit-applier.js';
import type { LimitedContainers } from './limited-containers.js';
import type { EventQueue, ExperienceQueue } from './queues.js';

/** What the parts of the hook share; created once by `runHook`. */
export interface HookParts {
  readonly clock: Clock;
  /** The clock of the tap's time stamps, which is never set. */
  readonly steady: Clock;
  readonly decider: Decider;
  readonly containers: ContainerRegistry;
  readonly functions: FunctionRegistry;
  readonly applier: LimitApplier;
  readonly limited: LimitedContainers;
  readonly counters: Counters;
  readonly events: EventQueue;
  readonly audit: AuditLog;
  /** Changes of mode once more, which a busy host's decisions would soon rotate away. */
  readonly modeAudit: AuditLog;
  readonly experiences: ExperienceQueue;
  readonly logger: Logger;
  readonly log: RateLimitedLog;
}
