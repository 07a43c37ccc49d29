import {
  answerOf,
  headOf,
  runBody,
  runRequest,
  Wire,
} from '../openwhisk-plugin/host/tap/packets.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Mutator } from './mutator.js';

const FORGED = '/victim/f';
const OTHER_BODY = runBody({ action: FORGED });
const HEADERS = [
  '',
  'X-A: b\r\n',
  'Expect: 100-continue\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: 7\r\n',
];
const VALUES = [
  OTHER_BODY,
  runRequest(OTHER_BODY),
  headOf('/run', OTHER_BODY),
  headOf('/run', 1e6) + OTHER_BODY,
  'HTTP/1.1 200 OK\r\n\r\n',
  '{}',
];

/**
 * `honest`: only the value is the attacker's; else anything may be damaged. A line of sizes
 * follows: where the stream is cut.
 */
interface Call {
  readonly honest: boolean;
  readonly action: string;
  readonly text: string;
  readonly cuts: readonly number[];
  readonly answers: readonly string[];
}

function call(m: Mutator): Call {
  const action = m.pick(['/guest/plain', '/guest/pkg/f', '/_/my action@1 & co']);
  const value = JSON.stringify(Array.from({ length: m.random.below(4) }, () => m.pick(VALUES)));
  const raw = m.chance(0.5) ? value : m.pick(VALUES);
  const path = m.pick(['/run', '/run', '/run', '/init']);
  const body = runBody({ action, value: m.chance(0.3) ? latin(m.bytes(Buffer.from(raw))) : raw });
  const honest = m.chance(0.6);
  const text = headOf(path, body, m.pick(HEADERS)) + body;
  const cuts = Array.from({ length: m.random.below(5) }, () =>
    m.chance(0.5)
      ? m.random.below(text.length)
      : Math.max(0, text.indexOf(m.pick(['POST', '{"ac', '\r\n\r\n', 'HTTP/1.1 2']), 1)),
  );
  const answers = Array.from({ length: m.random.below(3) }, () =>
    m.chance(0.6)
      ? answerOf(m.pick([200, 100, 204, 502]))
      : latin(m.bytes(Buffer.from(answerOf()))),
  );
  return {
    honest,
    action,
    text: honest ? text : latin(m.bytes(Buffer.from(text), 3)),
    cuts,
    answers,
  };
}

/** Every name that a text gives to `action_name`, as JSON says it: `"a\/b"` is a/b. */
function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  for (const [, literal] of text.matchAll(/"action_name":("(?:[^"\\]|\\.)*")/g)) {
    try {
      names.add(JSON.parse(literal!) as string);
    } catch {
      // No JSON, and so no name.
    }
  }
  return names;
}

/** UTF-8 bytes as text of one character each: inputs are written down as JSON. */
const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/**
 * `/init` and `/run` as they pass the tap, one to three calls on connections of a few ports, cut
 * anywhere.
 */
export const http: FuzzTarget = {
  name: 'http',
  make: (m) =>
    Buffer.from(JSON.stringify(Array.from({ length: 1 + m.random.below(3) }, () => call(m)))),
  check(input) {
    const calls = JSON.parse(Buffer.from(input).toString('utf8')) as Call[];
    const wire = new Wire({ capacity: 3 });
    calls.forEach(({ text, cuts, answers }, i) => {
      const talk = wire.connect(40_000 + i, { isn: 77_777 * i });
      let from = 0;
      const bytes = Buffer.from(text);
      for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
        if (cut > from) talk.send(bytes.subarray(from, cut));
        from = Math.max(from, cut);
      }
      for (const answer of answers) talk.answer(answer);
      if (i % 2 === 0) talk.fin();
    });
    must(wire.connections.remembered <= 3, 'what is remembered is bounded');
    const honest = calls.every((each) => each.honest);
    let known = 0;
    for (const identity of wire.recorder.identities) {
      if (identity === null) continue;
      known++;
      must(/^(\/[^/]{1,256}){2,3}$/u.test(identity.action), `'${identity.action}' is a name`);
      must(
        Number.isFinite(identity.deadline) && identity.deadline >= 0,
        `its deadline is ${identity.deadline}`,
      );
      if (honest)
        must(
          calls.some(({ action }) => action === identity.action),
          `'${identity.action}' was not called`,
        );
      else
        must(
          calls.some(({ text }) => namesIn(text).has(identity.action)),
          `'${identity.action}' was not sent`,
        );
    }
    must(wire.recorder.starts <= calls.length * 6, 'a call is not told without end');
    return known > 0 ? 'accepted' : 'unknown';
  },
};
