/** Texts for the codes of decisions, on the command line and on the dashboard. */

const REASONS: Readonly<Record<string, string>> = {
  // Reasons of a range.
  first_activation: 'first activation: user limit',
  // Of hooks and audit logs of earlier builds.
  first_call: 'first activation: user limit',
  no_peak: 'runs too short to measure: user limit',
  failure: 'the last run failed: user limit',
  spike: 'the last run came close to its limit: user limit',
  over_provisioned: 'uses less than its limit',
  under_provisioned: 'uses all of its limit',
  control: 'control arm: user limit',
  after_oom: 'killed at a lowered limit: user limit',
  grows_too_fast: 'memory grows too fast to be lowered',
  guarantee: 'never below the user limit',
  weight: 'no quota: its weight decides',
  unlimited: 'has no limit',
  // Reasons of a granted amount.
  user: 'user limit',
  chosen: 'as the policy chose',
  clipped: 'the policy’s choice, cut to the range',
  pool: 'the pool had no more',
  no_target: 'no current target: user limit',
  short_run: 'raised so that a short run is not throttled',
  step: 'falls in steps: several activations share it',
  restored: 'user limit restored during the run',
  revoked: 'loan taken back by its lender',
  lent_later: 'lent during the run',
  loan: 'memory loan',
  // Events.
  tripped: 'user limit restored during the run',
  mid_run: 'came close to its lowered limit during a run',
  worse_than_nothing: 'slower than its control arm',
  changed_outside: 'another program changed the limit',
  // Ends of activations that are not an answer.
  closed: 'connection closed',
  reset: 'connection reset',
  container_end: 'container ended',
  deadline: 'time limit passed',
  next_head: 'ended by the next request',
  init_failed: '/init failed',
  tap_lost: 'packets were lost',
  stopped: 'Gleaner stopped',
};

/** A reason's text; an unknown code is shown with spaces instead of underscores. */
export const reasonText = (code: string): string => REASONS[code] ?? code.replaceAll('_', ' ');

/** Reasons of range and choice of one resource; one text if both are equal. */
export function grantReason(range: string, choice: string): string {
  const why = reasonText(range);
  return choice === 'user' || reasonText(choice) === why ? why : `${why}; ${reasonText(choice)}`;
}

const FEATURES: Readonly<Record<string, string>> = {
  cpu_util: 'CPU used of granted',
  slo_preservation: 'objective kept',
  cpu: 'CPU share of hosts',
  cpu_others: 'CPU share of others',
  containers: 'containers',
  arrival_rate: 'arrival rate',
};

export const featureText = (name: string): string => FEATURES[name] ?? name.replaceAll('_', ' ');

/** A target of at most this many millicores means the lower bound of the safeguard's range. */
const LOWEST_CPU = 1;

/** `1 core`, `0.25 cores`. */
export const coresText = (millicores: number): string =>
  `${Number((millicores / 1000).toFixed(2))} ${millicores === 1000 ? 'core' : 'cores'}`;

export const requestedCpu = (millicores: number): string =>
  millicores <= LOWEST_CPU ? 'lowest allowed CPU' : coresText(millicores);
