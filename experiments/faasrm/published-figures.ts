/**
 * Published figures [FaaSRM]. RFET: execution against execution at the user's allocation.
 */

/**
 * FaaSRM, simulation, 1000 functions on 30 servers: mean RFET, and s within which 98 % of
 * invocations end.
 */
export const PUBLISHED_SIMULATION = {
  fixed: { rfetMean: 1, p98Seconds: 121 },
  greedy: { rfetMean: 1.49, p98Seconds: 76 },
  ensure: { rfetMean: 0.91, p98Seconds: 48 },
  faasrm: { rfetMean: 0.76, p98Seconds: 15 },
} as const;

/** FaaSRM on OpenWhisk: also the RFET within which 98 % lie. */
export const PUBLISHED_OPENWHISK = {
  fixed: { rfetMean: 1.09, p98Seconds: 32.16, rfetP98: 1.27 },
  greedy: { rfetMean: 0.93, p98Seconds: 25.8, rfetP98: 2.52 },
  ensure: { rfetMean: 1.12, p98Seconds: 27.39, rfetP98: 5.2 },
  faasrm: { rfetMean: 0.89, p98Seconds: 16.91, rfetP98: 1.28 },
} as const;

/** Freyr [FaaSRM, WWW 2022], 268 activations on ten invokers. */
export const PUBLISHED_FREYR = {
  fixed: { slowdownMean: 1, p99Seconds: 28, slowdownP99: 1, worstVictim: 0 },
  greedy: { slowdownMean: 1.12, p99Seconds: 25, slowdownP99: 1.58, worstVictim: 0.6 },
  ensure: { slowdownMean: 1.78, p99Seconds: 38, slowdownP99: 4.5, worstVictim: 5 },
  faasrm: { slowdownMean: 0.82, p99Seconds: 19, slowdownP99: 1.06, worstVictim: 0.06 },
} as const;
