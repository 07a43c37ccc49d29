import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * Rounds of a bench as they are kept in a file, so that a run can be made in parts. `schema`: of
 * one round.
 */
export function roundsFile<Round extends { readonly round: number }>(schema: z.ZodType<Round>) {
  const fileSchema = z.object({ version: z.literal(1), rounds: z.array(schema) });
  return {
    /** Of earlier parts; none if there is no file. */
    read(file: string | undefined): Round[] {
      return file !== undefined && existsSync(file)
        ? fileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).rounds
        : [];
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
