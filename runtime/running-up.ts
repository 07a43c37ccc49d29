import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { platforms } from '../config/index.js';

const schema = z.object({
  pid: z.number().int().positive(),
  servers: z.array(z.string()),
  /** Absent: of another release. */
  platform: z.enum(platforms).optional().catch(undefined),
});

/** How a `gleaner up` can be reached, and where its containers are, in its state folder. */
export type UpState = z.output<typeof schema>;

/** Also of an `up` that was killed. Null: no file, or a damaged one. */
export function readUpState(file: string): UpState | null {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

/** The state of another process that lives; null: none. */
export function runningUp(file: string): UpState | null {
  const state = readUpState(file);
  if (state === null || state.pid === process.pid) return null;
  try {
    // The id of a killed process may have been reused.
    const command = readFileSync(`/proc/${state.pid}/cmdline`, 'utf8').split('\0');
    return command.includes('up') ? state : null;
  } catch {
    return null;
  }
}
