import { z } from 'zod';
import { decoder } from './codec.js';
import { count, finite, functionField, nonNegative, sender, share, version } from './fields.js';

/**
 * What the inputs of FaaSRM's network mean: counts up whenever a feature's meaning or place
 * changes, so that nobody scores by weights, or learns from lessons, of another layout.
 */
export const FEATURE_LAYOUT = 1;
/** Features that all options share (faasrm.md §2); an option's CPU and memory come after them. */
export const STATE_FEATURES = 9;
/** Amounts of one resource that are looked at; of both together 64, as published. */
export const LEVELS = 8;

const feature = finite.min(-1).max(1).meta({ typeLabel: 'feature, -1..1' });
const amounts = z.array(feature).min(1).max(LEVELS);

/** One drawn choice with what came of its own activation: all that a learner needs. */
const experienceSchema = z.object({
  function: functionField,
  weights: count.describe('Version of the weights that chose.'),
  state: z.array(feature).length(STATE_FEATURES),
  cpu: amounts.describe('Feature of each amount there was.'),
  memory: amounts,
  option: count.max(LEVELS * LEVELS - 1).describe('cpu x (amounts of memory) + memory.'),
  logProbability: finite.max(0).min(-100),
  share: share.describe("The chosen CPU as a share of the host's."),
  slowdown: nonNegative
    .max(1e6)
    .describe('Duration against what it would have been at user limits.'),
});
export type FaasrmExperience = z.infer<typeof experienceSchema>;

/** Some lessons of one host (`lessons.<host>`, hook → agents). */
export const experiencesSchema = z.object({
  v: version,
  ...sender,
  layout: z.literal(FEATURE_LAYOUT),
  experiences: z.array(experienceSchema).min(1).max(128),
});
export type ExperienceBatch = z.infer<typeof experiencesSchema>;
export const decodeExperiences = decoder(experiencesSchema, 256 * 1024);
