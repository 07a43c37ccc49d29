import { z } from 'zod';
import { FEATURE_LAYOUT, LEVELS, STATE_FEATURES } from '../../rules/index.js';
import { decoder } from './codec.js';
import { count, finite, functionField, nonNegative, sender, share, version } from './fields.js';

const feature = finite.min(-1).max(1).meta({ typeLabel: 'feature, -1..1' });
const amounts = z.array(feature).min(1).max(LEVELS);

/** One sampled choice with the outcome of its activation. */
const experienceSchema = z.object({
  function: functionField,
  weights: count.describe('Version of the weights.'),
  state: z.array(feature).length(STATE_FEATURES),
  cpu: amounts.describe('Feature of each possible amount.'),
  memory: amounts,
  option: count.max(LEVELS * LEVELS - 1).describe('cpu x (amounts of memory) + memory.'),
  logProbability: finite.max(0).min(-100),
  share: share.describe("The chosen CPU as a share of the host's."),
  slowdown: nonNegative.max(1e6).describe('Duration relative to the expected one at user limits.'),
});
export type FaasrmExperience = z.infer<typeof experienceSchema>;

/** Experiences of one host (`experiences.<host>`, hook → agents). */
export const experiencesSchema = z.object({
  v: version,
  ...sender,
  layout: z.literal(FEATURE_LAYOUT),
  experiences: z.array(experienceSchema).min(1).max(128),
});
export type ExperienceBatch = z.infer<typeof experiencesSchema>;
export const decodeExperiences = decoder(experiencesSchema, 256 * 1024);
