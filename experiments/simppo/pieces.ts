import { z } from 'zod';
import { PieceFiles } from '../piece-files.js';
import { runFloors, SCALING_FLOORS, type Tuned, tuneRules } from './floors.js';
import { GROWING, type GrowingVariant, type GrowthStage, grow } from './growth.js';
import { runLearner } from './learners.js';
import {
  CONTENDED,
  KERNEL,
  PUBLISHED,
  type Setting,
  type StudySize,
  settingName,
  type VariantName,
} from './protocol.js';
import { contenderScore } from './scores.js';

const tuned = z.object({
  target: z.number(),
  stabilization: z.number(),
  reward: z.number(),
  constant: z.object({ headroom: z.number(), spare: z.number() }),
});
const floors = z.record(z.enum(SCALING_FLOORS), contenderScore);
const learner = z.object({
  curve: z.array(z.number()),
  score: contenderScore,
  alone: contenderScore,
});
const stage = z.object({
  functions: z.number(),
  added: z.number(),
  before: z.number(),
  atOnce: z.number(),
  after: z.number(),
  newAtOnce: z.number(),
  newAfter: z.number(),
  tripped: z.number(),
  retrainingEpisodes: z.number(),
  unsettled: z.number(),
  curve: z.array(z.number()),
}) satisfies z.ZodType<GrowthStage>;

/**
 * Written into each piece; a piece of another one is run again. To be raised where the protocol,
 * the agents or the simulator change.
 */
const EDITION = 2;

/** A part of the study that is run in one go, on any thread, and kept in a file of its own. */
export interface StudyPart {
  readonly key: string;
  /** Key of the piece that it reads. */
  readonly needs?: string;
  /** No comparison between managers needs it. */
  readonly isExtra?: boolean;
  run(store: PieceStore): unknown;
}

/** Agents by setting, in the order in which they are run: seed by seed. */
const LEARNERS: readonly (readonly [VariantName, Setting])[] = [
  ['simppo', CONTENDED],
  ['simppo', KERNEL],
  ['price-alone', CONTENDED],
  ['price-alone', KERNEL],
  ['single-agent', CONTENDED],
  ['single-agent', KERNEL],
  ['simppo', PUBLISHED],
  ['single-agent', PUBLISHED],
];
/** What each part of an agent contributes. */
const ABLATIONS: typeof LEARNERS = [
  ['g4', CONTENDED],
  ['no-price', CONTENDED],
  ['idle-price', CONTENDED],
];
const FLOOR_SETTINGS: readonly Setting[] = [CONTENDED, PUBLISHED, KERNEL];

export const tuneKey = (setting: Setting): string => `tune-${settingName(setting)}`;
export const floorsKey = (setting: Setting, seed: number): string =>
  `floors-${settingName(setting)}-${seed}`;
export const learnerKey = (variant: VariantName, setting: Setting, seed: number): string =>
  `${variant}-${settingName(setting)}-${seed}`;
export const growthKey = (variant: GrowingVariant, seed: number): string =>
  `growth-${variant}-${seed}`;

/** Every piece of a study; the most important ones come before the rest. */
export function piecesOf(size: StudySize): StudyPart[] {
  const pieces: StudyPart[] = [];
  for (const setting of FLOOR_SETTINGS) {
    const needs = tuneKey(setting);
    pieces.push({ key: needs, run: () => tuneRules(setting, size) });
    for (const seed of size.seeds)
      pieces.push({
        key: floorsKey(setting, seed),
        needs,
        run: (store) => runFloors(setting, seed, size, store.tuned(setting)),
      });
  }
  for (const [learners, isExtra] of [
    [LEARNERS, false],
    [ABLATIONS, true],
  ] as const)
    for (const seed of size.seeds)
      for (const [variant, setting] of learners)
        pieces.push({
          key: learnerKey(variant, setting, seed),
          isExtra,
          run: () => runLearner(variant, setting, seed, size),
        });
  for (const seed of size.seeds)
    for (const variant of GROWING)
      pieces.push({
        key: growthKey(variant, seed),
        isExtra: true,
        run: () => [...grow(variant, seed, size)],
      });
  return pieces;
}

/** The pieces of a study that were run, as what they are. */
export class PieceStore {
  readonly #files: PieceFiles;

  constructor(folder: string, size: StudySize) {
    this.#files = new PieceFiles(folder, { edition: EDITION, ...size, seeds: undefined });
  }

  has(key: string): boolean {
    return this.#files.has(key);
  }

  save(key: string, result: unknown): void {
    this.#files.save(key, result);
  }

  tuned(setting: Setting): Tuned {
    return tuned.parse(this.#files.read(tuneKey(setting)));
  }
  floors(setting: Setting, seed: number): z.infer<typeof floors> {
    return floors.parse(this.#files.read(floorsKey(setting, seed)));
  }
  learner(variant: VariantName, setting: Setting, seed: number): z.infer<typeof learner> {
    return learner.parse(this.#files.read(learnerKey(variant, setting, seed)));
  }
  growth(variant: GrowingVariant, seed: number): GrowthStage[] {
    return z.array(stage).parse(this.#files.read(growthKey(variant, seed)));
  }
}
