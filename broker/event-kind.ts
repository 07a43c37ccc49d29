/** Kinds of events; each is a token of its subject. */
export const EVENT_KINDS = [
  'safeguard',
  'harvest',
  'loan',
  'release',
  'oom',
  'drift',
  'lifecycle',
  'concurrency',
  'mode',
  'action',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
