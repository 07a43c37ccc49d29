import { type Comparison, type ComparisonSums, comparisonOver } from './arm-comparison.js';

/** `−12 %`, `+3.4 %`: the change that a ratio means. */
export function changeText(ratio: number): string {
  const change = (ratio - 1) * 100;
  const size = Math.abs(change);
  const text = size >= 10 ? size.toFixed(0) : size.toFixed(1);
  if (Number(text) === 0) return '0 %';
  return `${change < 0 ? '−' : '+'}${text} %`;
}

/** The fields of a hook's host view that the verdict over hosts rests on. */
export interface ComparedHost {
  readonly mode: string;
  readonly killed: boolean;
  readonly comparison?: ComparisonSums;
  readonly upSeconds?: number;
}

export interface HostsVerdict {
  readonly comparison: Comparison;
  readonly text: string;
  /** When the missing control samples are expected; null: known already, or unknown. */
  readonly expectedSeconds: number | null;
}

/** The pace of control samples is that of the hook that has run for longest. */
export function verdictOf(hosts: readonly ComparedHost[]): HostsVerdict {
  const comparison = comparisonOver(hosts);
  if (comparison.known) {
    const { ratio, low, high, activations, controlSamples } = comparison;
    const interval = `95 % interval ${changeText(low)} to ${changeText(high)}`;
    const samples = `${activations} activations and ${controlSamples} control samples`;
    const change = `${changeText(ratio)} response time [${interval}, ${samples}]`;
    const text = `compared with the control arm: ${change}`;
    return { comparison, text, expectedSeconds: null };
  }
  if (!hosts.some(({ mode, killed }) => mode === 'enforce' && !killed)) {
    const text = 'nothing to compare: limits are written in mode enforce only';
    return { comparison, text, expectedSeconds: null };
  }
  const { controlSamples, needed } = comparison;
  const upSeconds = Math.max(0, ...hosts.map((host) => host.upSeconds ?? 0));
  const missing = `not enough control samples yet: ${controlSamples} of ${needed}`;
  if (upSeconds <= 0 || controlSamples <= 0)
    return { comparison, text: missing, expectedSeconds: null };
  const pace = controlSamples / upSeconds;
  const seconds = Math.max(1, Math.round((needed - controlSamples) / pace));
  const when = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return { comparison, text: `${missing}, expected in about ${when}`, expectedSeconds: seconds };
}
