import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { ACK, SYN } from '../../openwhisk-plugin/host/tap/packet.js';
import {
  answerOf,
  CONTAINER,
  frame,
  headOf,
  INVOKER,
  runBody,
} from '../openwhisk-plugin/host/tap/packets.js';

/** Part of all that is private to the user: argument, key, result, header. */
const SECRET = 'zq-swordfish-9417';

test('no argument, key or result of an activation stays in logs, messages or memory', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-secrecy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  const frames: string[] = [];
  let sent = 1001;
  let answered = 5001;
  const client = (text: string): void => {
    const payload = Buffer.from(text);
    const ends = {
      source: INVOKER,
      destination: CONTAINER,
      sourcePort: 40000,
      destinationPort: 8080,
    };
    frames.push(
      frame({ ...ends, sequence: sent, acknowledged: answered, flags: ACK, payload }).toString(
        'base64',
      ),
    );
    sent += payload.length;
  };
  const server = (text: string, flags = ACK): void => {
    const payload = Buffer.from(text);
    const ends = {
      source: CONTAINER,
      destination: INVOKER,
      sourcePort: 8080,
      destinationPort: 40000,
    };
    frames.push(
      frame({ ...ends, sequence: answered, acknowledged: sent, flags, payload }).toString('base64'),
    );
    answered += payload.length;
  };
  answered = 5000;
  server('', SYN | ACK);
  answered = 5001;
  const init = `{"value":{"code":"${SECRET}","env":{"K":"${SECRET}"}}}`;
  client(headOf('/init', init, `Authorization: Basic ${SECRET}\r\n`) + init);
  server(answerOf(200, `{"${SECRET}":1}`));
  for (let i = 0; i < 20; i++) {
    const body = runBody({
      value: `{"card":"${SECRET}"}`,
      extra: `"api_key":"${SECRET}:${SECRET}",`,
    });
    const head = headOf('/run', body, `Authorization: Basic ${SECRET}\r\n`);
    // Head and body in one packet, and in two.
    if (i % 2 === 0) client(head + body);
    else {
      client(head);
      client(body);
    }
    server(answerOf(i === 7 ? 502 : 200, `{"error":"${SECRET}"}`));
  }
  writeFileSync(at('frames'), frames.join('\n'));
  const child = fileURLToPath(new URL('secrecy-child.js', import.meta.url));
  const args = [child, at('frames'), at('said'), at('heap')];
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 60_000,
  });
  t.is(status, 0, stderr);

  const said = readFileSync(at('said'), 'utf8');
  t.regex(said, /gleaner\.v1\.obs\./);
  t.regex(said, /"activations":20/);
  t.false(said.includes(SECRET));
  // The heap holds every text of the process: the function's name is there, so that a missing
  // secret means something.
  const heap = readFileSync(at('heap'), 'utf8');
  t.true(heap.includes('/guest/plain'));
  t.false(heap.includes(SECRET));
});
