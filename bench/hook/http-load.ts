import { connect } from 'node:net';

/** What one activation took. */
export interface RunTiming {
  readonly startedMicros: number;
  readonly durationMicros: number;
  readonly ok: boolean;
}

/**
 * The bytes of a `/run` from the invoker's default client, which opens a connection per activation.
 */
export function runRequest(
  address: string,
  action: string,
  activationId: string,
  deadlineMillis: number,
  value: object = {},
): Buffer {
  const body = JSON.stringify({
    action_name: action,
    action_version: '0.0.1',
    activation_id: activationId,
    deadline: String(deadlineMillis),
    namespace: action.split('/')[1],
    transaction_id: 'bench',
    value,
  });
  const head = [
    'POST /run HTTP/1.1',
    'Accept: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Content-Type: application/json',
    `Host: ${address}:8080`,
    'Connection: Keep-Alive',
    'User-Agent: Apache-HttpClient/4.5.13 (Java/17.0.15)',
    'Accept-Encoding: gzip,deflate',
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * One activation on a connection of its own: from before connect() to the first byte of the answer;
 * then the client closes.
 */
export function sendRun(
  address: string,
  request: Buffer,
  timeoutMillis = 10_000,
): Promise<RunTiming> {
  return new Promise((resolve) => {
    const started = performance.now();
    let finished = false;
    const finish = (ok: boolean): void => {
      if (finished) return;
      finished = true;
      const durationMicros = (performance.now() - started) * 1000;
      socket.destroy();
      resolve({ startedMicros: started * 1000, durationMicros, ok });
    };
    const socket = connect({ host: address, port: 8080, noDelay: true }, () =>
      socket.write(request),
    );
    socket.setTimeout(timeoutMillis, () => finish(false));
    socket.on('data', (chunk) =>
      finish(chunk.subarray(0, 12).toString('latin1') === 'HTTP/1.1 200'),
    );
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}

let sequence = 0;
export const nextActivationId = (): string => (++sequence).toString(16).padStart(32, '0');

/**
 * Sequential activations, round robin over the containers, `gapMillis` after each answer, so that
 * the clean-up after an activation does not delay the next one.
 */
export async function serialLoad(
  addresses: readonly string[],
  action: string,
  count: number,
  gapMillis = 0,
  value: object = {},
): Promise<RunTiming[]> {
  const activations: RunTiming[] = [];
  for (let i = 0; i < count; i++) {
    if (gapMillis > 0) await new Promise((resolve) => setTimeout(resolve, gapMillis));
    const address = addresses[i % addresses.length]!;
    activations.push(
      await sendRun(
        address,
        runRequest(address, action, nextActivationId(), Date.now() + 60_000, value),
      ),
    );
  }
  return activations;
}

/**
 * Open loop at a steady rate; bounded by `count`. A container that is still busy is skipped, as the
 * invoker does.
 */
export function steadyLoad(
  addresses: readonly string[],
  action: string,
  perSecond: number,
  count: number,
): Promise<RunTiming[]> {
  return new Promise((resolve) => {
    const activations: RunTiming[] = [];
    const busy = new Set<string>();
    const begun = performance.now();
    let issued = 0;
    let finished = 0;
    let turn = 0;
    const issue = (): void => {
      for (let tries = 0; tries < addresses.length; tries++) {
        const address = addresses[turn++ % addresses.length]!;
        if (busy.has(address)) continue;
        busy.add(address);
        void sendRun(
          address,
          runRequest(address, action, nextActivationId(), Date.now() + 60_000),
        ).then((result) => {
          busy.delete(address);
          activations.push(result);
          if (++finished === count) resolve(activations);
        });
        issued++;
        return;
      }
    };
    const tick = (): void => {
      const due = Math.min(count, Math.floor(((performance.now() - begun) / 1000) * perSecond) + 1);
      while (issued < due) {
        const before = issued;
        issue();
        if (issued === before) break;
      }
      if (issued < count) setTimeout(tick, 1);
    };
    tick();
  });
}
