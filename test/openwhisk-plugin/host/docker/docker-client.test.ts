import test from 'ava';
import { z } from 'zod';
import { millis } from '../../../../config/index.js';
import { DockerClient, negotiate } from '../../../../openwhisk-plugin/host/docker/docker-client.js';
import { DockerEngine } from '../../../../openwhisk-plugin/host/docker/index.js';
import {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  EngineUnsupportedError,
} from '../../../../openwhisk-plugin/host/engine/engine-errors.js';
import { Recorder } from './recorder.js';
import { json, SWITCHING_PROTOCOLS, stubEngine, VERSION } from './stub-engine.js';

const anything = z.unknown();

test('the API version is not above the engine and not below its minimum', (t) => {
  // Docker 29: 1.52, refuses below 1.44.
  const chosen = Number(negotiate('1.52', '1.44').slice(2));
  t.true(chosen <= 52 && chosen >= 44);
  t.is(negotiate('1.41', '1.12'), '1.41');
  t.is(negotiate('1.90', '1.60'), '1.60');
  t.throws(() => negotiate('1.18', '1.12'), { instanceOf: EngineUnsupportedError });
  t.throws(() => negotiate('latest', '1.12'), { instanceOf: EngineResponseError });
});

test('every request is a GET and carries the negotiated version', async (t) => {
  const stub = await stubEngine((url, response) =>
    json(response, url === '/version' ? VERSION : {}),
  );
  const client = new DockerClient({ socketPath: stub.socketPath });
  await client.get('/info', anything);
  t.deepEqual(stub.requests, [
    { method: 'GET', url: '/_ping' },
    { method: 'GET', url: '/version' },
    { method: 'GET', url: '/v1.41/info' },
  ]);
  client.close();
  await stub.close();
});

test('a request to an engine that never answers ends at its deadline', async (t) => {
  let hang = false;
  const stub = await stubEngine((url, response) => {
    if (!hang) json(response, url === '/version' ? VERSION : {});
  });
  const client = new DockerClient({ socketPath: stub.socketPath, deadline: millis(500) });
  await client.get('/info', anything);
  hang = true;
  const before = stub.requests.length;
  const begun = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, () => client.get('/info', anything)),
  );
  // All wait at most one deadline for a slot and one for the answer: 1 s, where four at a time one
  // after another would be 12.
  t.true(performance.now() - begun < 6000);
  for (const result of results) {
    t.true(result.status === 'rejected' && result.reason instanceof EngineUnavailableError);
  }
  t.true(stub.most() <= 4, `${stub.most()} at once`);
  const sent = stub.requests.length;
  // After that the breaker is open: nothing is sent, and the answer is immediate.
  await t.throwsAsync(client.get('/info', anything), { instanceOf: EngineUnavailableError });
  t.is(stub.requests.length, sent);
  t.true(sent - before <= 8, `${sent - before} requests for 100 calls`);
  client.close();
  await stub.close();
});

test('at most four calls run at once, and all of them are served', async (t) => {
  const stub = await stubEngine((url, response) => {
    setTimeout(() => json(response, url === '/version' ? VERSION : { url }), 5);
  });
  const client = new DockerClient({ socketPath: stub.socketPath });
  await client.apiVersion();
  await Promise.all(Array.from({ length: 60 }, () => client.get('/info', anything)));
  t.is(stub.most(), 4);
  client.close();
  await stub.close();
});

test('an answer that is an error, no JSON, invalid or endless gives an error', async (t) => {
  const stub = await stubEngine((url, response) => {
    if (url === '/_ping') return json(response, 'OK');
    if (url === '/version') return json(response, VERSION);
    if (url.endsWith('/gone')) return json(response, { message: 'No such container' }, 404);
    if (url.endsWith('/html')) return void response.end('<html>');
    if (url.endsWith('/endless')) {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 32)));
      };
      response.on('drain', more);
      return more();
    }
    json(response, { Name: 5 });
  });
  const client = new DockerClient({ socketPath: stub.socketPath });
  const gone = await t.throwsAsync(client.get('/gone', anything), {
    instanceOf: EngineStatusError,
  });
  t.is(gone?.status, 404);
  await t.throwsAsync(client.get('/html', anything), {
    instanceOf: EngineResponseError,
    message: /not JSON/,
  });
  const shape = z.object({ Name: z.string() });
  await t.throwsAsync(client.get('/shape', shape), {
    instanceOf: EngineResponseError,
    message: /at Name/,
  });
  await t.throwsAsync(client.get('/endless', anything), {
    instanceOf: EngineResponseError,
    message: /longer/,
  });
  client.close();
  await stub.close();
});

test('an engine that hung is asked again after a pause, and then as before', async (t) => {
  let answer: 'well' | 'never' | 'endless' = 'well';
  const stub = await stubEngine((url, response) => {
    if (answer === 'well') json(response, url === '/version' ? VERSION : {});
    if (answer === 'endless') {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 32)));
      };
      response.on('drain', more);
      more();
    }
  });
  const client = new DockerClient({ socketPath: stub.socketPath, deadline: millis(400) });
  await client.get('/info', anything);
  answer = 'never';
  await Promise.allSettled(Array.from({ length: 8 }, () => client.get('/info', anything)));
  const isAsked = async (): Promise<boolean> => {
    const before = stub.requests.length;
    await client.get('/info', anything).catch(() => {});
    return stub.requests.length > before;
  };
  t.false(await isAsked());
  // Half a second later one call may try; that its answer is bad must not close the way for good.
  answer = 'endless';
  await new Promise((resolve) => setTimeout(resolve, 600));
  t.true(await isAsked());
  t.false(await isAsked());
  answer = 'well';
  await new Promise((resolve) => setTimeout(resolve, 1100));
  t.true(await isAsked());
  await client.get('/info', anything);
  client.close();
  await stub.close();
});

test('an answer that switches protocols is an error, and the next call is answered', async (t) => {
  let isSwitching = true;
  const stub = await stubEngine((url, response) => {
    if (!url.endsWith('/networks') || !isSwitching)
      return json(response, url === '/version' ? VERSION : {});
    isSwitching = false;
    response.socket?.write(SWITCHING_PROTOCOLS);
  });
  const client = new DockerClient({ socketPath: stub.socketPath });
  await t.throwsAsync(client.get('/networks', anything), {
    instanceOf: EngineUnavailableError,
    message: /\/networks.*without an answer/,
  });
  t.deepEqual(await client.get('/networks', anything), {});
  client.close();
  await stub.close();
});

test('without an engine at the socket the error names the socket', async (t) => {
  const client = new DockerClient({
    socketPath: '/nonexistent/docker.sock',
    deadline: millis(500),
  });
  const error = await t.throwsAsync(client.get('/info', anything), {
    instanceOf: EngineUnavailableError,
  });
  t.regex(error?.message ?? '', /\/nonexistent\/docker\.sock/);
  client.close();
});

test('a hanging engine is reported again and again and never blocks the hook', async (t) => {
  const stub = await stubEngine(() => {});
  const engine = new DockerEngine({
    socketPath: stub.socketPath,
    managed: () => true,
    deadline: millis(100),
  });
  const recorder = new Recorder();
  void engine.start(recorder);
  await recorder.until((r) => r.count('down GLN_ENGINE_UNAVAILABLE') >= 2);
  t.true(stub.most() <= 4);
  await t.throwsAsync(engine.facts(), { instanceOf: EngineUnavailableError });
  await engine.stop();
  await stub.close();
});
