import { MIB } from '../../config/index.js';
import {
  HORIZON_SECONDS,
  keepAliveTime,
  recommendSizes,
  type SizeRecommendation,
  type SizingInputs,
} from '../../openwhisk-plugin/openwhisk-api/index.js';

/**
 * A greedy optimizer by Che's approximation, the baseline: sizes are the recent peak and a margin,
 * and one is written if it is estimated to save more cold starts in an hour than it causes. All
 * hosts are one pool; a container is kept for the time T at which containers fill it, so a MiB more
 * saves sum(r^2 e^-rT) / sum(s r e^-rT) cold starts a second.
 */
export function greedySizes(inputs: SizingInputs): SizeRecommendation[] {
  const { advice, hosts } = inputs;
  const pool = hosts.reduce((sum, { userMemory }) => sum + userMemory, 0);
  const uses = advice.map(({ rate, limit, busy }) => ({ rate, size: limit, busy: busy / 1000 }));
  const keep = keepAliveTime(uses, pool);
  let [saved, filled] = [0, 0];
  for (const { rate, size } of uses) {
    const missed = rate * Math.exp(-rate * keep);
    saved += rate * missed;
    filled += size * missed;
  }
  const price = filled > 0 ? saved / filled : 0;
  return recommendSizes(inputs).map((one) => {
    if (one.verdict !== 'ready') return one;
    const { rate, busy } = one.evidence;
    const held = (rate * busy) / 1000 + 1 - Math.exp(-rate * keep);
    const saves = price * held * (one.from - one.to) * HORIZON_SECONDS;
    const costs = one.costs * (1 - Math.exp(-rate * keep));
    return saves > costs && one.from - one.to >= MIB
      ? one
      : { ...one, verdict: 'cost exceeds benefit' };
  });
}
