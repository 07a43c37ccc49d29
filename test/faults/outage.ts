import { pidsOf } from './processes.js';
import type { Rig } from './rig.js';

export interface OutageResult {
  readonly activations: number;
  readonly failed: readonly string[];
  /** From the kill until a batch began at user limits, ms; null: none did. */
  readonly userLimitsAfter: number | null;
  /** From the kill until the last batch before that began, with lowered limits, ms; 0: none. */
  readonly loweredUntil: number;
  /** Most quotas lowered at once in any later batch. */
  readonly loweredAfter: number;
  /** From the server's return until limits are lowered again, ms. */
  readonly resumedAfter: number;
  /** Lines of the hook's log about it. */
  readonly unavailableLogLines: number;
}

/** Kills NATS under activations, keeps it down (its supervisor is stopped), then lets it return. */
export async function natsOutage(rig: Rig, seconds: number): Promise<OutageResult> {
  const up = rig.gleaner.pid;
  await rig.untilLowered(30_000);
  const linesBefore = unavailableLogLines(rig);
  const failed: string[] = [];
  let activations = 0;
  let userLimitsAfter: number | null = null;
  let loweredUntil = 0;
  let loweredAfter = 0;
  process.kill(up, 'SIGSTOP');
  const killedAt = performance.now();
  try {
    for (const pid of pidsOf('nats-server', up)) process.kill(pid, 'SIGKILL');
    do {
      const outageMillis = performance.now() - killedAt;
      const { result, most } = await rig.lowestQuota(rig.batch());
      activations += result.length;
      failed.push(...result.filter(({ ok }) => !ok).map(({ kind }) => kind));
      if (userLimitsAfter !== null) loweredAfter = Math.max(loweredAfter, most);
      else if (most === 0) userLimitsAfter = outageMillis;
      else loweredUntil = outageMillis;
    } while (performance.now() - killedAt < seconds * 1000);
  } finally {
    process.kill(up, 'SIGCONT');
  }
  const resumedAfter = await rig.untilLowered(60_000);
  return {
    activations,
    failed,
    userLimitsAfter,
    loweredUntil,
    loweredAfter,
    resumedAfter,
    unavailableLogLines: unavailableLogLines(rig) - linesBefore,
  };
}

const unavailableLogLines = (rig: Rig): number =>
  rig
    .log('hook')
    .filter(({ msg }) => typeof msg === 'string' && msg.startsWith('NATS is disconnected')).length;
