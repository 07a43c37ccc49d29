import { type TapView, tapText } from '../../broker/services/index.js';
import type { HealthCheck } from './health.js';

/** Degraded is ready all the same: user limits are in force where the tap does not listen. */
export function tapCheck(tap: readonly TapView[]): HealthCheck {
  const lostTaps = tap.filter(({ state }) => state !== 'listening');
  if (lostTaps.length > 0)
    return { name: 'tap', state: 'degraded', detail: lostTaps.map(tapText).join('; ') };
  if (tap.length === 0)
    return {
      name: 'tap',
      state: 'degraded',
      detail: 'no bridge network to listen on: user limits in force',
    };
  return {
    name: 'tap',
    state: 'ok',
    detail: `listens on ${tap.map((each) => each.interface).join(', ')}`,
  };
}
