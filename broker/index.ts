export { newBootId } from './boot-id.js';
export { DroppingQueue } from './dropping-queue.js';
export {
  BrokerUnreachableError,
  CredentialsError,
  ServiceError,
  StoreError,
  serverList,
} from './errors.js';
export { functionName, functionToken, isFunctionName } from './function-token.js';
export { Inbox } from './inbox.js';
export { Lease } from './lease.js';
export { type Logger, silentLogger, warnOnce } from './logger.js';
export {
  failureOf,
  type ModeAuthor,
  type ModeChange,
  type ModeOutcome,
  modeErrors,
  type StoredModes,
  storedMode,
  storedModes,
  storeLater,
  switchMode,
  type UnreadableMode,
} from './mode-switch.js';
export { inboxPrefixOf, permissionsOf } from './permissions.js';
export type {
  Broker,
  BrokerMessage,
  BrokerStatus,
  KeyValue,
  KeyValueEntry,
  KeyValueWatch,
  MessageStream,
  ObjectStore,
  SweepDecision,
} from './port.js';
export { RateLimitedLog } from './rate-limited-log.js';
export { natsReference } from './reference.js';
export { refusedText } from './refused-subjects.js';
export { logConnection } from './status-log.js';
export type { StoreState } from './store-health.js';
export { consequenceOf, logStores } from './store-log.js';
export {
  buckets,
  hostNameFrom,
  isHostName,
  objectStores,
  services,
  streams,
  subjects,
  wildcards,
} from './subjects.js';
export { EVENT_KINDS, type EventKind, ROLES, type Role } from './tables.js';
