import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { initBody, resolveAction, runBody } from '../../../simulator/invoker-emulator/action.js';
import {
  initOutcome,
  runOutcome,
} from '../../../simulator/invoker-emulator/activation-response.js';
import type { ContainerAnswer } from '../../../simulator/invoker-emulator/container-client.js';
import { LOG_SENTINEL, readLogFile } from '../../../simulator/invoker-emulator/container-logs.js';
import { parseLdd } from '../../../simulator/invoker-emulator/images/action-image.js';
import { actionBodies } from '../../../simulator/invoker-emulator/images/actions.js';
import { actionSource } from '../../../simulator/invoker-emulator/index.js';

const answer = (
  status: number,
  entity: string,
  truncatedFrom: number | null = null,
): ContainerAnswer => ({
  kind: 'response',
  status,
  entity,
  truncatedFrom,
});

test('An answer to a run is judged as OpenWhisk judges it', (t) => {
  // processRunResponseContent, ActivationResult.scala.
  const kind = (given: ContainerAnswer): string => runOutcome(given, 1, 2).kind;
  t.is(kind(answer(200, '{"a":1}')), 'success');
  t.is(kind(answer(200, '[1]')), 'success');
  t.is(kind(answer(200, '{"error":"no"}')), 'application error');
  t.is(kind(answer(200, '"text"')), 'developer error');
  t.is(kind(answer(200, 'not json')), 'developer error');
  t.is(kind(answer(502, '{"error":"boom"}')), 'developer error');
  t.is(runOutcome(answer(502, '{"error":"boom"}'), 1, 2).result, 'boom');
  t.is(kind(answer(200, '{"a"', 2_000_000)), 'application error');
  t.is(kind({ kind: 'connection-error' }), 'developer error');
  t.is(runOutcome(answer(200, '{}'), 2, 2).kind, 'timeout');
  t.is(runOutcome({ kind: 'memory-exhausted' }, 1, 2).kind, 'oom');
});

test('An init that fails is the developer’s error, with the container’s words if any', (t) => {
  t.like(initOutcome(answer(502, '{"error":"syntax"}'), 1, 2), {
    kind: 'developer error',
    result: 'syntax',
  });
  for (const given of [
    answer(200, 'x', 9),
    answer(403, 'text'),
    { kind: 'no-response' } as const,
  ]) {
    t.is(initOutcome(given, 1, 2).kind, 'developer error');
  }
});

test('Both bodies have the recorded fields in order', (t) => {
  const call = { activationId: 'a', transactionId: 't' };
  const action = resolveAction({ namespace: 'guest', name: 'plain', version: '0.0.1', code: 'c' });
  t.is(
    initBody(action, call, 5),
    '{"value":{"name":"plain","binary":false,"main":"main","code":"c",' +
      '"env":{"__OW_DEADLINE":"5","__OW_ACTION_NAME":' +
      '"/guest/plain","__OW_ACTION_VERSION":"0.0.1","__OW_ACTIVATION_ID":"a",' +
      '"__OW_NAMESPACE":"guest","__OW_TRANSACTION_ID":"t"}}}',
  );
  const run =
    '{"action_name":"/guest/plain","action_version":"0.0.1","activation_id":"a",' +
    '"deadline":"5","namespace":"guest",' +
    '"transaction_id":"t","value":{"x":1}}';
  t.is(runBody(action, call, 5, { x: 1 }), run);
});

test('An action that docker could not run is refused by name', (t) => {
  const base = { namespace: 'guest', name: 'f', version: '0.0.1', code: '' };
  for (const bad of [
    { memoryMb: 1.5 },
    { memoryMb: 1 },
    { timeoutMs: 0 },
    { concurrency: 0 },
    { cpus: 0 },
    { name: '' },
  ]) {
    t.throws(() => resolveAction({ ...base, ...bad }), {
      code: 'GLN_EMULATOR_INVALID_ACTION',
      message: /^\/guest\//,
    });
  }
  t.not(
    resolveAction(base).key,
    resolveAction({ ...base, memoryMb: 512 }).key,
    'other limits, another container',
  );
});

test('Logs are read from where the last activation ended up to its two end markers', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-log-'));
  const path = join(folder, 'log');
  const end = `{"log":"${LOG_SENTINEL}\\n"}\n`;
  try {
    writeFileSync(path, `first\n${end}${end}`);
    const first = await readLogFile(path, 0, true);
    t.deepEqual(first.lines, ['first']);
    t.true(first.complete);
    appendFileSync(path, 'sec');
    setTimeout(() => appendFileSync(path, `ond\n${end}`), 20);
    setTimeout(() => appendFileSync(path, `${'z'.repeat(9000)}\n${end}`), 40);
    const second = await readLogFile(path, first.offset, true);
    t.deepEqual(second.lines, ['second', 'z'.repeat(9000)]);
    appendFileSync(path, 'killed\n');
    t.like(await readLogFile(path, second.offset, false), { lines: ['killed'], complete: false });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('The libraries of a binary come from ldd, loader included, vDSO excluded', (t) => {
  const text = [
    '\tlinux-vdso.so.1 (0x00007f31ac21e000)',
    '\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f31ac128000)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f31ac220000)',
    '\tstatically linked',
  ].join('\n');
  t.deepEqual(parseLdd(text), ['/lib/x86_64-linux-gnu/libm.so.6', '/lib64/ld-linux-x86-64.so.2']);
});

test('Each action’s source compiles by itself and defines its entry point', (t) => {
  for (const body of actionBodies) {
    for (const initCpuMs of [0, 0.001]) {
      const { code, main } = actionSource(body, initCpuMs);
      t.is(typeof new Function('require', `${code}\n;return ${main};`)(undefined), 'function');
    }
  }
});
