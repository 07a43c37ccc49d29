import test from 'ava';
import type { Micros } from '../../../../config/index.js';
import { addressOf } from '../../../../openwhisk-plugin/host/ports/index.js';
import { Connections } from '../../../../openwhisk-plugin/host/tap/connections.js';
import { ACK, FIN, readTcp, SYN, TcpPacket } from '../../../../openwhisk-plugin/host/tap/packet.js';
import { LINK_COOKED, PcapStream } from '../../../../openwhisk-plugin/host/tap/pcap.js';
import { rangeOf, Sources } from '../../../../openwhisk-plugin/host/tap/sources.js';
import {
  answerOf,
  BEGIN,
  CONTAINER,
  frame,
  headOf,
  OPTIONS,
  pcapOf,
  Recorder,
  runBody,
  runRequest,
  type Segment,
} from './packets.js';

const INVOKER = addressOf('10.77.0.9');

/** https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html before the IP header. */
function cooked(segment: Segment, interfaceIndex: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(0x0800, 0);
  header.writeUInt32BE(interfaceIndex, 4);
  header.writeUInt16BE(1, 8);
  return Buffer.concat([header, frame(segment).subarray(14)]);
}

test('cooked packets of a stream are read with the index of their interface', (t) => {
  const segment: Segment = {
    source: INVOKER,
    destination: CONTAINER,
    sourcePort: 40_000,
    destinationPort: 8080,
    sequence: 5,
    acknowledged: 7,
    flags: ACK,
    payload: Buffer.from('POST /run'),
  };
  const bytes = pcapOf([cooked(segment, 7), cooked(segment, 300_000)]);
  bytes.writeUInt32LE(LINK_COOKED, 20);
  const packet = new TcpPacket();
  const seen: number[] = [];
  const stream = new PcapStream((chunk, offset, captured, original, _at, link) => {
    t.true(readTcp(chunk, offset, captured, original, packet, link));
    t.is(packet.source, INVOKER);
    t.is(packet.payloadLength, 9);
    seen.push(packet.interfaceIndex);
    for (let cut = 0; cut < 20 + 20 + 32; cut++)
      t.false(readTcp(chunk, offset, cut, original, packet, link));
  });
  stream.push(bytes);
  t.is(stream.state, 'packets');
  t.deepEqual(seen, [7, 300_000]);
});

/** Shows each packet on several interfaces, as a capture of all interfaces does. */
class Node {
  readonly recorder = new Recorder();
  readonly connections = new Connections(this.recorder, OPTIONS);
  readonly #packet = new TcpPacket();
  #at = BEGIN;
  #sent = 1000;
  #answered = 5000;

  constructor() {
    this.connections.bind(CONTAINER, BEGIN - 1);
  }

  fromContainer(interfaces: readonly number[], flags: number, text = ''): void {
    const payload = Buffer.from(text);
    const sequence = this.#answered;
    this.#answered += payload.length + ((flags & (SYN | FIN)) === 0 ? 0 : 1);
    this.#show(interfaces, {
      source: CONTAINER,
      destination: INVOKER,
      sourcePort: 8080,
      destinationPort: 40_000,
      sequence,
      acknowledged: this.#sent,
      flags,
      payload,
    });
  }

  toContainer(interfaces: readonly number[], text: string): void {
    const payload = Buffer.from(text);
    const sequence = this.#sent;
    this.#sent += payload.length;
    this.#show(interfaces, {
      source: INVOKER,
      destination: CONTAINER,
      sourcePort: 40_000,
      destinationPort: 8080,
      sequence,
      acknowledged: this.#answered,
      flags: ACK,
      payload,
    });
  }

  #show(interfaces: readonly number[], segment: Segment): void {
    for (const index of interfaces) {
      const bytes = cooked(segment, index);
      if (!readTcp(bytes, 0, bytes.length, bytes.length, this.#packet, LINK_COOKED))
        throw new Error('not TCP');
      this.#packet.at = this.#at++;
      this.connections.packet(bytes, this.#packet, 1);
    }
  }
}

test('an activation counts once, and copies on other interfaces are no anomaly', (t) => {
  const node = new Node();
  const [veth, bridge] = [12, 4];
  // From the pod its veth comes first; towards it the bridge does.
  node.fromContainer([veth, bridge], SYN | ACK);
  for (let i = 0; i < 3; i++) {
    node.toContainer([bridge, veth], runRequest(runBody()));
    node.fromContainer([veth, bridge], ACK, answerOf());
  }
  node.toContainer([bridge, veth], headOf('/run', runBody().length));
  node.toContainer([bridge, veth], runBody());
  node.fromContainer([veth, bridge], FIN | ACK);
  t.is(node.recorder.starts, 4);
  t.is(node.recorder.ends, 3);
  t.is(node.recorder.told.at(-1), 'closed');
  t.is(node.recorder.told.filter((line) => line === 'closed').length, 1);
  t.deepEqual([...node.recorder.counts], []);
});

test('an address that moves to another pod is seen on the other pod’s interface', (t) => {
  const node = new Node();
  node.fromContainer([12, 4], SYN | ACK);
  node.toContainer([4, 12], runRequest(runBody()));
  node.connections.unbind(CONTAINER);
  node.connections.bind(CONTAINER, BEGIN + 10);
  // The invoker uses the same port, and the first pod's end was never seen.
  for (let i = 0; i < 10; i++) node.toContainer([4, 12], 'body');
  node.fromContainer([31, 4], SYN | ACK);
  node.toContainer([4, 31], runRequest(runBody({ action: '/guest/b' })));
  node.fromContainer([31, 4], ACK, answerOf());
  t.is(node.recorder.identities.at(-1)?.action, '/guest/b');
  t.is(node.recorder.ends, 1);
});

test('a range of addresses holds its network’s addresses and no other', (t) => {
  const holds = (range: string, address: string): boolean => {
    const { first, last } = rangeOf(range);
    return addressOf(address) >= first && addressOf(address) <= last;
  };
  t.true(holds('10.1.2.3', '10.1.2.3'));
  t.false(holds('10.1.2.3', '10.1.2.4'));
  // The bits behind the prefix do not count.
  t.true(holds('10.1.2.77/24', '10.1.2.0'));
  t.true(holds('10.1.2.77/24', '10.1.2.255'));
  t.false(holds('10.1.2.77/24', '10.1.3.0'));
  t.true(holds('0.0.0.0/0', '255.255.255.255'));
  t.false(holds('somewhere/24', '10.1.2.3'));
});

test('a container is no source, even within a configured range', (t) => {
  const sources = new Sources([rangeOf('10.77.0.0/16')], (address) => address === CONTAINER, 1);
  t.true(sources.allows(INVOKER));
  const own = new Sources([rangeOf('172.17.0.0/16')], (address) => address === CONTAINER, 1);
  t.false(own.allows(CONTAINER));
});

test('after many restarts of an invoker’s pod its newest address is learned', (t) => {
  const silence = 1000;
  const sources = new Sources([], () => false, silence);
  let at = 0;
  for (let n = 1; n <= 100; n++) {
    at += silence / 4;
    // The addresses of the last few restarts are remembered, as their requests may still run.
    t.true(sources.learn(n, at), `${n}`);
    t.true(sources.uses(n, at));
  }
  t.false(sources.allows(1));
  t.true(sources.allows(99));
  // Addresses that all sent recently are not replaced.
  const busy = new Sources([], () => false, silence);
  let learned = 0;
  for (let n = 1; n <= 100; n++) if (busy.learn(n, 5 as Micros)) learned++;
  t.is(learned, 16);
  t.false(busy.mayLearn(200, 6));
  t.true(busy.mayLearn(200, 5 + silence + 1));
});
