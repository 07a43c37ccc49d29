export * from './announcement.js';
export { type Decode, encodeMessage, type RefusalKind } from './codec.js';
export * from './event.js';
export * from './experiences.js';
export {
  bootField,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  memory,
  modeField,
  nonNegative,
  TEXT_MAX,
  text,
  time,
  wallClock,
  word,
} from './fields.js';
export * from './latency-histogram.js';
export * from './mean-field.js';
export * from './observation.js';
export * from './target.js';
export * from './trajectory.js';
export * from './values.js';
