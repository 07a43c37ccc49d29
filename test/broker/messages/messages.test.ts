import test from 'ava';
import fc from 'fast-check';
import {
  type Decode,
  decodeMeanField,
  decodeObservation,
  decodeTarget,
  encodeMessage,
  type Target,
} from '../../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../../config/index.js';

const target: Target = {
  v: 1,
  function: '/guest/hello',
  cpu: 500 as Millicores,
  memory: 268435456 as Bytes,
  epoch: 3,
  echo: { host: 'host-1', boot: 'boot1', observedAt: 12.5 as Millis },
  author: { host: 'agents-1', boot: 'boot2', sequence: 9, manager: 'greedy' },
};
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const json = JSON.stringify(target);
const kindOf = (decode: Decode<unknown>, data: Uint8Array): string => {
  const result = decode(data);
  return result.ok ? 'ok' : result.kind;
};

test('a target comes back as it was sent', (t) => {
  t.deepEqual(decodeTarget(encodeMessage(target)), { ok: true, message: target });
});

test('NaN, 1e309, -0 and "0.5" as CPU are refused by kind', (t) => {
  t.is(kindOf(decodeTarget, encodeMessage({ ...target, cpu: Number.NaN })), 'not_finite');
  t.is(kindOf(decodeTarget, bytesOf(json.replace('"cpu":500', '"cpu":1e309'))), 'not_finite');
  t.is(kindOf(decodeTarget, bytesOf(json.replace('"cpu":500', '"cpu":-0'))), 'malformed');
  t.is(kindOf(decodeTarget, bytesOf(json.replace('"cpu":500', '"cpu":"0.5"'))), 'malformed');
  t.is(kindOf(decodeTarget, bytesOf(json.replace('"cpu":500', '"cpu":0'))), 'malformed');
  t.is(kindOf(decodeTarget, bytesOf(json.replace('"cpu":500', '"cpu":-5'))), 'malformed');
});

test('another version, a huge message and invalid JSON each have their own kind', (t) => {
  t.is(kindOf(decodeTarget, encodeMessage({ ...target, v: 2 })), 'wrong_version');
  t.is(kindOf(decodeTarget, bytesOf(`${json}${' '.repeat(9000)}`)), 'too_large');
  t.is(kindOf(decodeTarget, bytesOf('{"v":1')), 'malformed');
  t.is(kindOf(decodeTarget, bytesOf('[1]')), 'malformed');
  t.is(kindOf(decodeTarget, new Uint8Array([0xff, 0xfe])), 'malformed');
  t.is(kindOf(decodeMeanField, bytesOf('['.repeat(200_000))), 'malformed');
});

test('a target may omit members', (t) => {
  const { cpu, ...rest } = target;
  t.is(cpu, 500 as Millicores);
  t.is(kindOf(decodeTarget, encodeMessage(rest)), 'ok');
});

test('no input makes a decoder throw', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.json().map(bytesOf)), (data) => {
      for (const decode of [decodeTarget, decodeObservation, decodeMeanField]) decode(data);
    }),
  );
  t.pass();
});
