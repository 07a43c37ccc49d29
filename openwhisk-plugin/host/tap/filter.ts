import { FIN, RST, SYN } from './packet.js';

/**
 * The first four payload bytes as a big-endian word, behind TCP options of any length.
 */
const PAYLOAD = 'tcp[((tcp[12] & 0xf0) >> 2):4]';

const POST = '0x504f5354';
const HTTP = '0x48545450';
const RUN_BODY = '0x7b226163'; // {"ac
const INIT_BODY = '0x7b227661'; // {"va

/**
 * The kernel filter for containers that serve on `port`.
 *
 * From the container: FIN, RST and SYN-ACK, then answer heads. To the container: request heads and
 * first body packets. The flags come first: a load beyond the end of a packet makes BPF reject it,
 * so a bare FIN never passes a payload test. SYN-ACK is one small packet per connection; only it
 * proves where the first head begins.
 */
export function captureFilter(port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new RangeError(`not a TCP port: ${port}`);
  const flags = `tcp[13] & ${FIN | SYN | RST} != 0`;
  const answers = `ip and tcp src port ${port} and (${flags} or ${PAYLOAD} = ${HTTP})`;
  const requested = [POST, RUN_BODY, INIT_BODY].map((word) => `${PAYLOAD} = ${word}`).join(' or ');
  const requests = `ip and tcp dst port ${port} and (${requested})`;
  return `(${answers}) or (${requests})`;
}
