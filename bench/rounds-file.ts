import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { messageOf } from '../config/index.js';

/**
 * Rounds of a bench as they are kept in a file, so that a run can be made in parts. `schema`: of
 * one round.
 */
export function roundsFile<Round extends { readonly round: number }>(schema: z.ZodType<Round>) {
  const fileSchema = z.object({ version: z.literal(1), rounds: z.array(schema) });
  return {
    /**
     * Of earlier parts; none if there is no file. Throws an Error with the first key that does not
     * fit: earlier versions named and counted some otherwise.
     */
    read(file: string | undefined): Round[] {
      if (file === undefined || !existsSync(file)) return [];
      const { success, data, error } = fileSchema.safeParse(parsed(file));
      if (success) return data.rounds;
      const { path, message } = error.issues[0]!;
      throw new Error(
        `${file}: ${path.join('.')}: ${message}; if an earlier version wrote it, ` +
          'name another file and play its rounds again',
      );
    },

    /** Adds a round, or replaces the one with its number. @returns all rounds */
    add(file: string | undefined, before: readonly Round[], added: Round): Round[] {
      const rounds = [...before.filter(({ round }) => round !== added.round), added].sort(
        (a, b) => a.round - b.round,
      );
      if (file !== undefined) writeFileSync(file, `${JSON.stringify({ version: 1, rounds })}\n`);
      return rounds;
    },
  };
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}
