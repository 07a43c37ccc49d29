import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { allowed } from '../support/slowness.js';

/** 32 hexadecimal digits, as OpenWhisk's. `prefix`: one digit. */
function idOf(prefix: string, address: string, n: number): string {
  const parts = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return prefix + parts.join('') + n.toString(16).padStart(23, '0');
}

/**
 * Text of a function that sends `count` activations to each address, as an invoker does, some of
 * them side by side, and resolves with how many were answered with 200. A text, because it also
 * runs in pods.
 */
const SEND = `
${idOf.toString()}
async function send(prefix, count, addresses) {
  const { Agent, request } = require('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const post = (host, body) => new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const options = { host, port: 8080, path: '/run', method: 'POST', agent, headers };
    const sent = request(options, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    });
    sent.on('error', reject);
    sent.end(body);
  });
  let answered = 0;
  await Promise.all(addresses.map(async (host) => {
    const numbers = Array.from({ length: count }, (_, n) => n).values();
    await Promise.all(Array.from({ length: 8 }, async () => {
      for (const n of numbers) {
        const body = JSON.stringify({
          action_name: '/guest/hello',
          action_version: '0.0.1',
          activation_id: idOf(prefix, host, n),
          api_key: 'key',
          deadline: String(Date.now() + 60000),
          namespace: 'guest',
          transaction_id: 't',
          value: { n },
        });
        if ((await post(host, body)) === 200) answered++;
      }
    }));
  }));
  agent.destroy();
  return answered;
}`;

/** For `node -e`: prints how many were answered. */
export const sender = (prefix: string, count: number, addresses: readonly string[]): string =>
  `${SEND}
send(${JSON.stringify(prefix)}, ${count}, ${JSON.stringify(addresses)})
  .then((answered) => console.log(answered));`;

/** The identifiers of the activations that {@link sender} sends. */
export const activationIds = (
  prefix: string,
  count: number,
  addresses: readonly string[],
): string[] =>
  addresses.flatMap((host) => Array.from({ length: count }, (_, n) => idOf(prefix, host, n)));

/** A connection without a request, which the tap does not see. */
export async function untilServing({ address }: { address: string }): Promise<void> {
  for (let i = 0; i < allowed(100); i++) {
    const socket = connect(8080, address);
    const isServing = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isServing) return;
    await sleep(50);
  }
}

/** As an invoker calls: 20 ms of CPU, then `sleepMs` ms without. */
export function activation(
  { address }: { address: string },
  n: number,
  sleepMs: number,
): Promise<void> {
  const body = JSON.stringify({
    action_name: '/guest/idle',
    action_version: '0.0.1',
    activation_id: n.toString(16).padStart(32, '0'),
    api_key: 'key',
    deadline: String(Date.now() + allowed(60_000)),
    namespace: 'guest',
    transaction_id: 't',
    value: { busy: 20, sleep: sleepMs },
  });
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    // A connection that is older than the hook is not trusted.
    const to = { host: address, port: 8080, path: '/run', method: 'POST' };
    const options = { ...to, headers, agent: false };
    const sent = request(options, (answer) => answer.resume().on('end', () => resolve()));
    sent.on('error', reject);
    sent.end(body);
  });
}
