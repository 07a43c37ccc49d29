import { randomBytes } from 'node:crypto';

/** Identifies one start of a process. Never seeded, because two starts must not share it. */
export const newBootId = (): string => randomBytes(9).toString('base64url');
