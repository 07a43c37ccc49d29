import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What a managed runtime prints on stdout and stderr at the end of each activation
 * (Container.ACTIVATION_LOG_SENTINEL).
 */
export const LOG_SENTINEL = 'XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX';

const CHUNK = 8192;
const POLL_MS = 5;
const IDLE_MS = 2000;

export interface LogRead {
  readonly lines: readonly string[];
  /** Where the next activation's lines begin. */
  readonly offset: number;
  /** Both end markers were seen. */
  readonly complete: boolean;
}

/**
 * Tails the engine's json-log file until both end markers are there. Source: DockerContainer.logs
 * (DockerContainer.scala @ 1.0.0, 2.0.0, 1fae641a2: chunks of 8 KiB, polled every 5 ms, at most 2 s
 * between two lines) and DockerClientWithFileAccess.rawContainerLogs.
 * @param wait false after a failed activation: what is there is read, no marker is waited for
 */
export async function readLogFile(path: string, from: number, wait: boolean): Promise<LogRead> {
  const file = await open(path, 'r');
  try {
    const lines: string[] = [];
    const chunk = Buffer.alloc(CHUNK);
    let pending = Buffer.alloc(0);
    let position = from;
    let offset = from;
    let sentinels = 0;
    let lastSeen = Date.now();
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK, position);
      if (bytesRead === 0) {
        if (!wait || Date.now() - lastSeen > IDLE_MS) return { lines, offset, complete: false };
        await sleep(POLL_MS);
        continue;
      }
      lastSeen = Date.now();
      position += bytesRead;
      pending = Buffer.concat([pending, chunk.subarray(0, bytesRead)]);
      for (let end = pending.indexOf(10); end >= 0; end = pending.indexOf(10)) {
        const line = pending.subarray(0, end).toString('utf8');
        pending = pending.subarray(end + 1);
        offset += end + 1;
        if (!line.includes(LOG_SENTINEL)) lines.push(line);
        else if (++sentinels === 2) return { lines, offset, complete: true };
      }
    }
  } finally {
    await file.close();
  }
}
