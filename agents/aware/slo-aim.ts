import { FEATURES, preservationOf, sloPreservation } from '../features.js';
import type { View } from '../resource-manager.js';

/**
 * Share of its function's SLO that an agent aims at. The reward falls only beyond the SLO, so
 * agents settle at its edge, where noise makes every tenth step miss it; figures:
 * docs/results/aware.md. The guard judges by the SLO itself.
 */
const SLO_AIM = 0.8;

const PRESERVATION = FEATURES.indexOf('slo_preservation');

/** What an agent sees and is rewarded by. */
export function aimedView(view: View): View {
  const { slo } = view.observation;
  if (slo === undefined) return view;
  const observation = { ...view.observation, slo: (SLO_AIM * slo) as typeof slo };
  const features = [...view.features];
  features[PRESERVATION] = sloPreservation(observation);
  return { ...view, observation, features };
}

interface SloStep {
  readonly slo: number;
  readonly p99: number;
  readonly preservation: number;
}

/** The same for a step of the reproduction, which has no views. */
export function aimedStep<Step extends SloStep>(step: Step): Step {
  const slo = SLO_AIM * step.slo;
  return { ...step, slo, preservation: preservationOf(slo, step.p99) };
}
