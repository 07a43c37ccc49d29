/**
 * A hook that gets recorded packets. secrecy.test.ts runs it as a separate process, so that
 * no text of the test is in its heap: `argv`: file of frames (base64, one a line), file for what
 * the hook says, file for the heap.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeHeapSnapshot } from 'node:v8';
import type { Micros } from '../../config/index.js';
import { Connections } from '../../openwhisk-plugin/host/tap/connections.js';
import { readTcp, TcpPacket } from '../../openwhisk-plugin/host/tap/packet.js';
import { HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { CONTAINER, INVOKER, OPTIONS } from '../openwhisk-plugin/host/tap/packets.js';

const [, , frames, said, heap] = process.argv;
const rig = await new HookRig((config) =>
  Object.assign(config.hook, { stepActivations: 1 }),
).start();
const messages: string[] = [];
rig.other.subscribe('>', (message) =>
  messages.push(`${message.subject} ${new TextDecoder().decode(message.data)}`),
);
const connections = new Connections(rig.platform.packets, OPTIONS);
connections.sources.setGateways([INVOKER]);
rig.container({}, false);
connections.bind(CONTAINER, (rig.platform.time.wall() - 1) as Micros);
const packet = new TcpPacket();
for (const line of readFileSync(frames!, 'latin1').split('\n')) {
  const bytes = Buffer.from(line, 'base64');
  if (bytes.length === 0) continue;
  rig.advance(20);
  readTcp(bytes, 0, bytes.length, bytes.length, packet);
  packet.at = rig.platform.time.wall();
  connections.packet(bytes, packet, 1);
  bytes.fill(0);
}
rig.advance(11_000);
await new Promise((resolve) => setTimeout(resolve, 50));
const views = JSON.stringify([
  rig.hook.inspect(),
  rig.hook.explain('/guest/plain'),
  rig.hook.figures(),
  rig.lines,
]);
await rig.hook.stop();
const audit = readFileSync(join(rig.folder, 'audit.jsonl'), 'utf8');
writeFileSync(said!, [views, ...messages, audit].join('\n'));
writeHeapSnapshot(heap);
