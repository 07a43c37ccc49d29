export {
  type ActionSettings,
  actionSettingsSchema,
  decodeActionSettings,
} from './action-settings.js';
export { type AgentReport, agentReportSchema, decodeAgentReport } from './agent-report.js';
export {
  type AgentsPartial,
  agentsPartialSchema,
  decodeAgentsPartial,
  type Sums,
  sumsSchema,
} from './agents-partial.js';
export { type Decode, encodeMessage, type RefusalKind } from './codec.js';
export { decodeEvent, eventSchema, type GleanerEvent } from './event.js';
export {
  decodeExperiences,
  type ExperienceBatch,
  experiencesSchema,
  type FaasrmExperience,
  FEATURE_LAYOUT,
  LEVELS,
  STATE_FEATURES,
} from './experiences.js';
export {
  bootField,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  type Mode,
  memory,
  modeField,
  nonNegative,
  text,
  time,
  wallClock,
  word,
} from './fields.js';
export { decodeHostReport, type HostReport, hostReportSchema } from './host-report.js';
export {
  bucketBound,
  bucketOf,
  LATENCY_BUCKETS,
  LatencyHistogram,
  type LatencyHistogramMessage,
  withoutPart,
} from './latency-histogram.js';
export {
  decodeMeanField,
  HOSTS_MAX,
  type MeanField,
  meanFieldSchema,
  type PerResource,
} from './mean-field.js';
export { decodeMode, MODE_GLOBAL, type ModeValue, modeKey, modeSchema } from './mode.js';
export { decodeObservation, type Observation, observationSchema } from './observation.js';
export {
  decodePolicyParameters,
  type PolicyParameters,
  policyKey,
  policyParametersSchema,
} from './policy-parameters.js';
export {
  decodeLease,
  decodeOwnRegistration,
  leaseSchema,
  type Registration,
  registrationSchema,
} from './registration.js';
export { decodeTarget, type Target, targetSchema } from './target.js';
export { decodeTrajectory, trajectorySchema } from './trajectory.js';
