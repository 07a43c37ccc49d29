/** Kinds of events an operator may be told of; each is a token of its subject. */
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
