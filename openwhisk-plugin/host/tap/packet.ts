import { LINK_COOKED, LINK_ETHERNET, type LinkType } from './pcap.js';

export const FIN = 1;
export const SYN = 2;
export const RST = 4;
export const ACK = 16;

/** One TCP segment over IPv4; a single object is refilled for each packet. */
export class TcpPacket {
  /** IPv4 addresses as unsigned 32-bit numbers. */
  source = 0;
  destination = 0;
  sourcePort = 0;
  destinationPort = 0;
  /** Sequence and acknowledgement numbers, unsigned 32 bits. */
  sequence = 0;
  acknowledged = 0;
  flags = 0;
  /** Index of the payload's first byte in the buffer given to `readTcp`. */
  payload = 0;
  /** Payload bytes on the wire; more than `captured` if the snapshot is shorter. */
  payloadLength = 0;
  captured = 0;
  /** Index of the interface that showed it; 0 if the capture is of one interface only. */
  interfaceIndex = 0;
  /** Kernel stamp, wall clock, us. */
  at = 0;
}

const ETHERNET = 14;
/** Protocol (2 bytes), zero (2), interface index (4), and the sender's address. */
const COOKED = 20;
const IPV4 = 0x0800;
const VLAN = 0x8100;
const PROVIDER_VLAN = 0x88a8;
const TCP = 6;

/**
 * Reads Ethernet (with up to two VLAN tags) or cooked, IPv4 and TCP headers (RFC 791, RFC 9293).
 * False for any other packet, a later fragment, and headers that are cut off.
 */
export function readTcp(
  bytes: Buffer,
  offset: number,
  captured: number,
  original: number,
  into: TcpPacket,
  link: LinkType = LINK_ETHERNET,
): boolean {
  const end = offset + captured;
  const isCooked = link === LINK_COOKED;
  let ip = offset + (isCooked ? COOKED : ETHERNET);
  if (ip > end) return false;
  let type = bytes.readUInt16BE(isCooked ? offset : ip - 2);
  for (let tags = 0; tags < 2 && (type === VLAN || type === PROVIDER_VLAN); tags++) {
    ip += 4;
    if (ip > end) return false;
    type = bytes.readUInt16BE(ip - 2);
  }
  if (type !== IPV4 || ip + 20 > end) return false;
  const ipHeader = (bytes[ip]! & 15) * 4;
  if (bytes[ip]! >>> 4 !== 4 || ipHeader < 20 || bytes[ip + 9] !== TCP) return false;
  if ((bytes.readUInt16BE(ip + 6) & 0x1fff) !== 0) return false;
  const tcp = ip + ipHeader;
  if (tcp + 20 > end) return false;
  const tcpHeader = (bytes[tcp + 12]! >>> 4) * 4;
  const payload = tcp + tcpHeader;
  if (tcpHeader < 20 || payload > end) return false;
  // Segments that the network card cuts later (TSO, "BIG TCP") may have a total length of 0: then
  // the capture's own length counts.
  const total = bytes.readUInt16BE(ip + 2) || original - (ip - offset);
  const payloadLength = total - ipHeader - tcpHeader;
  if (payloadLength < 0) return false;
  into.interfaceIndex = isCooked ? bytes.readUInt32BE(offset + 4) : 0;
  into.source = bytes.readUInt32BE(ip + 12);
  into.destination = bytes.readUInt32BE(ip + 16);
  into.sourcePort = bytes.readUInt16BE(tcp);
  into.destinationPort = bytes.readUInt16BE(tcp + 2);
  into.sequence = bytes.readUInt32BE(tcp + 4);
  into.acknowledged = bytes.readUInt32BE(tcp + 8);
  into.flags = bytes[tcp + 13]!;
  into.payload = payload;
  into.payloadLength = payloadLength;
  into.captured = Math.min(payloadLength, end - payload);
  return true;
}
