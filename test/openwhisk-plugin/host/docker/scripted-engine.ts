import type { ServerResponse } from 'node:http';
import { millis } from '../../../../config/index.js';
import { DockerEngine, managedByPrefix } from '../../../../openwhisk-plugin/host/docker/index.js';
import { Recorder } from './recorder.js';
import {
  idOf,
  inspectOf,
  json,
  NETWORKS,
  type StubContainer,
  stubEngine,
  VERSION,
} from './stub-engine.js';

/** A scripted engine: what runs, whom it tells, and how long an inspect takes. */
export async function scripted(options: { every?: number; deadline?: number } = {}) {
  const running = new Map<string, StubContainer>();
  const streams = new Set<ServerResponse>();
  const networks = [...NETWORKS];
  const state = {
    inspectDelay: 0,
    beforeList: (): void => {},
    beforeNetworks: (): void => {},
    /** Milliseconds of one container's inspect, by id; the others take `inspectDelay`. */
    delays: new Map<string, number>(),
    /** Bytes that one container's inspect is longer, by id. */
    padding: new Map<string, number>(),
    /** What else is in the listing, unless names are asked for. */
    oddEntries: [] as unknown[],
    info: { NCPU: 2, MemTotal: 8e9, ServerVersion: '20.10.24' },
  };
  const stub = await stubEngine((url, response) => {
    const path = url.replace(/^\/v1\.\d+/, '');
    if (path === '/version') return json(response, VERSION);
    if (path === '/info') return json(response, state.info);
    if (path === '/networks') {
      state.beforeNetworks();
      return json(response, networks);
    }
    if (path.startsWith('/containers/json')) {
      state.beforeList();
      const list = [...running.values()].map((c) => ({
        Id: c.id,
        Names: [`/${c.name}`],
        State: c.paused ? 'paused' : 'running',
      }));
      return json(response, path.includes('?') ? list : [...list, ...state.oddEntries]);
    }
    if (path.startsWith('/events')) {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.flushHeaders();
      streams.add(response);
      response.on('close', () => streams.delete(response));
      return;
    }
    const id = /^\/containers\/([^/]+)\/json$/.exec(path)?.[1];
    const container = id === undefined ? undefined : running.get(id);
    if (id !== undefined) {
      const padding = 'x'.repeat(state.padding.get(id) ?? 0);
      const answer = container
        ? { ...(inspectOf(container) as object), padding }
        : { message: `No such container: ${id}` };
      const delay = state.delays.get(id) ?? state.inspectDelay;
      setTimeout(() => json(response, answer, container ? 200 : 404), delay);
      return;
    }
    json(response, {});
  });
  const engine = new DockerEngine({
    socketPath: stub.socketPath,
    managed: managedByPrefix('wsk'),
    deadline: millis(options.deadline ?? 10_000),
    reconcileEvery: millis(options.every ?? 3_600_000),
  });
  const recorder = new Recorder();
  return {
    engine,
    recorder,
    running,
    streams,
    networks,
    stub,
    state,
    /** Each has an address of its own. */
    add(n: number, startedAt = '2026-11-28T00:00:00.000001Z'): StubContainer {
      const address = `172.17.${((n + 1) >> 8) & 255}.${(n + 1) & 255}`;
      const container = { id: idOf(n), name: `wsk0_${n}_guest_f`, startedAt, address };
      running.set(container.id, container);
      return container;
    },
    tell(type: string, action: string, id: string, at: string, name?: string): void {
      const timeNano = Date.parse(at) * 1e6;
      const event = {
        Type: type,
        Action: action,
        Actor: { ID: id, Attributes: name ? { name } : {} },
        timeNano,
      };
      for (const stream of streams) stream.write(`${JSON.stringify(event)}\n`);
    },
    /** Raw text on the event stream. */
    write(text: string): void {
      for (const stream of streams) stream.write(text);
    },
    dropStreams(): void {
      for (const stream of streams) stream.destroy();
    },
    async close(): Promise<void> {
      await engine.stop();
      await stub.close();
    },
  };
}
