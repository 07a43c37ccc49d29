import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ensureActionImage, InvokerEmulator } from '../../../simulator/invoker-emulator/index.js';
import { dockerAlone, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';
import { type Line, TrafficRecorder } from './traffic-recorder.js';
import { byContainer, comparable, filled, recordedAction } from './transcript.js';

/**
 * The emulator plays the recorded actions, and its requests to the engine and the containers are
 * compared with OpenWhisk's: per container the whole sequence of requests in order, with methods,
 * URLs, bodies, header names, header values and statuses; the order in which containers are created
 * and actions run; the number of commands (each starts with a HEAD /_ping).
 *
 * Not compared:
 * - network, image and API host names, addresses, Host, times, deadlines, ids: they always differ
 * (lengths are compared);
 * - the answer of `wait`, in neither recording: it comes when the container ends, after the
 * command;
 * - the order between the four activations that run at once in `conc` (container 12), after the
 * first one: it is a race in OpenWhisk too;
 * - the length of four answers that the runtime image decides: `fail` (that image printed only the
 * message; ours prints `Error: …` as openwhisk-runtime-nodejs does), `nokey` and `env` (sources cut
 * in the record, environments of the image);
 * - the first `oom` (container 10): in the recording a prototype in the path let the container hang
 * until the limit of 60 s without a kill; an action that never answers replaces it, with a limit of
 * 1.5 s (the limit is in no request);
 * - the GET /_ping of the recording's own proxy, and the start-up, which the record does not
 * contain;
 * - with another docker client than 20.10, the fields of the create body that OpenWhisk does not
 * set.
 */

const transcript = join(
  import.meta.dirname,
  '../../../../test/data/openwhisk-transcript/calls.jsonl',
);
const PREFIX = 'wskgldbltr0';

function recorded(): Line[] {
  return readFileSync(transcript, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

async function play(recorder: TrafficRecorder, emulator: InvokerEmulator): Promise<void> {
  const call = (name: string, payload: unknown = {}, more = {}): Promise<unknown> =>
    emulator.invoke(recordedAction(name, more), payload);
  const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, allowed(400)));
  const paused = (numbers: readonly number[], times = 1): Promise<void> =>
    recorder.until(`pause ${times} of ${numbers}`, () => {
      const lines = byContainer(recorder.lines, PREFIX);
      return numbers.every(
        (number) =>
          lines
            .get(number)
            ?.filter((line) => line.kind === 'engine-response' && line.url?.endsWith('/pause'))
            .length === times,
      );
    });
  for (const name of ['plain', 'with space', 'with.dot', 'with@at', 'a_b-c'])
    await call(name, { x: name });
  await call('plain', { x: 2 });
  await call('m512', {}, { memoryMb: 512 });
  await call('fail');
  await quiet();
  await call('appfail');
  await paused([2]);
  // It answers after 5 s.
  await call('slow', {}, { timeoutMs: Math.min(4000, allowed(1000)) });
  await quiet();
  const hangs = filled(
    'function main(){return new Promise(()=>0)}',
    recordedAction('oom').code.length,
  );
  await call('oom', {}, { memoryMb: 128, timeoutMs: allowed(1500), code: hangs });
  await paused([1, 3, 4, 5, 6, 8]);
  await call('plain', { x: 'after idle kill -9 + restart' });
  await call('with.dot', { x: 'after idle kill -9 + restart' });
  await quiet();
  await call('oom', {}, { memoryMb: 128, version: '0.0.2' });
  await paused([1, 3], 2);
  await call('conc', { x: 0 }, { concurrency: 4 });
  await quiet();
  await Promise.all([3, 4, 2, 1].map((x) => call('conc', { x }, { concurrency: 4 })));
  await quiet();
  for (let n = 1; n <= 3; n++) await call('inc', { n });
  await quiet();
  await call('nokey');
  await quiet();
  await call('env');
  await paused([12, 13, 14, 15, 16]);
}

test.serial(
  'The emulator sends to engine and containers what a real OpenWhisk was recorded to send',
  async (t) => {
    if (missing(t, dockerAlone)) return;
    t.timeout(allowed(180_000));
    const image = await ensureActionImage();
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-transcript-'));
    const recorder = new TrafficRecorder();
    await recorder.listen(join(folder, 'docker.sock'));
    const emulator = new InvokerEmulator({
      image,
      prefix: PREFIX,
      // The standalone server's settings (core/standalone/src/main/resources/standalone.conf).
      userMemoryMb: 2048,
      useRunc: false,
      logs: 'cli',
      containersFolder: null,
      retryNoResponse: true,
      // What the recording did within 6 s takes a slow or busy machine longer.
      pauseGraceMs: allowed(12_000),
      // Until the recorded action of 5 s has answered its relay, although its caller has gone after
      // 1 s.
      oomPolls: allowed(900),
      docker: {
        env: { DOCKER_HOST: `unix://${join(folder, 'docker.sock')}` },
        pauseTimeoutMs: allowed(10_000),
      },
    });
    let played: Line[] = [];
    try {
      await emulator.start();
      recorder.lines.length = 0;
      await play(recorder, emulator);
      played = [...recorder.lines];
    } finally {
      await emulator.stop();
      await recorder.close();
      rmSync(folder, { recursive: true, force: true });
    }
    const version = execFileSync(
      '/usr/bin/docker',
      ['version', '--format', '{{.Client.Version}}'],
      { encoding: 'utf8' },
    );
    compare(t, recorded(), played, version.startsWith('20.10.'));
  },
);

function compare(
  t: import('ava').ExecutionContext,
  there: Line[],
  here: Line[],
  sameClient: boolean,
): void {
  const theirs = byContainer(there, 'wsk0');
  const ours = byContainer(here, PREFIX);
  t.deepEqual([...ours.keys()], [...theirs.keys()], 'containers, in order of their creation');
  for (const [number, lines] of theirs) {
    const expected = texts(lines, 'wsk0', number, sameClient);
    t.deepEqual(
      texts(ours.get(number) ?? [], PREFIX, number, sameClient),
      expected,
      `container ${number}`,
    );
  }
  const called = (lines: readonly Line[]): string[] =>
    lines
      .filter((line) => line.kind === 'container-request')
      .map((line) => `${line.url} ${line.name?.replace(PREFIX, 'wsk0')}`);
  t.deepEqual(called(here), called(there), 'calls of all containers, in order');
  const commands = (lines: readonly Line[]): number =>
    lines.filter((line) => line.kind === 'engine-request' && line.method === 'HEAD').length;
  t.is(commands(here), commands(there));
}

function texts(
  lines: readonly Line[],
  prefix: string,
  number: number,
  sameClient: boolean,
): string[] {
  const kept = lines.filter(
    // Container 10: see above; its relay's error is the container's, which differs.
    (line) =>
      !(number === 10 && line.kind === 'container-error') &&
      !(line.kind === 'engine-response' && line.url?.includes('/wait')),
  );
  const all = kept.map((line) => {
    let compared = line;
    if (!sameClient && line.url?.includes('/create?'))
      compared = { ...line, body: openwhiskFields(line.body) };
    if ([7, 15, 16].includes(number) && line.kind === 'container-response' && line.url === '/run') {
      compared = { ...line, contentLength: 'not compared' };
    }
    // The replacement's source is as long as the recorded one, but is another.
    const text = comparable(compared, prefix);
    return number === 10 || number >= 15
      ? text.replace(/"code":"(?:[^"\\]|\\.)*"/, '"code":"…"')
      : text;
  });
  if (number !== 12) return all;
  const from = all.findIndex((text) => text.startsWith('200 to GET /containers/<id>/logs')) + 1;
  const pause = all.findIndex((text) => text.includes('/pause'));
  return [...all.slice(0, from), ...all.slice(from, pause).sort(), ...all.slice(pause)];
}

function openwhiskFields(body: unknown): unknown {
  const { Env, Image, HostConfig } = body as {
    Env: unknown;
    Image: unknown;
    HostConfig: Record<string, unknown>;
  };
  const set = [
    'NetworkMode',
    'CapDrop',
    'CpuShares',
    'Memory',
    'MemorySwap',
    'NanoCpus',
    'PidsLimit',
    'Ulimits',
  ];
  return { Env, Image, HostConfig: Object.fromEntries(set.map((key) => [key, HostConfig[key]])) };
}
