import { randomBytes } from 'node:crypto';

/** Names one life of a process. Never from a seeded stream: two lives must not share it. */
export const newBootId = (): string => randomBytes(9).toString('base64url');
