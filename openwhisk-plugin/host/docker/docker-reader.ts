import { bytes, type GleanerError, type Millis, millicores } from '../../../config/index.js';
import {
  type ContainerList,
  type EngineEvents,
  type EngineEventsListener,
  EngineResponseError,
  type EngineSource,
  EngineStatusError,
  type EngineTime,
  EngineUnsupportedError,
} from '../engine/index.js';
import type { Bridge, ContainerInfo, HostFacts } from '../ports/index.js';
import { bridgesOf, containerInfo } from './container-info.js';
import type { ManagedFilter } from './container-names.js';
import { DockerClient } from './docker-client.js';
import { DockerEvents } from './docker-events.js';
import {
  anyList,
  infoSchema,
  inspectSchema,
  listedSchema,
  networkSchema,
  readable,
  versionSchema,
} from './docker-schemas.js';

export interface ReaderOptions {
  readonly socketPath?: string;
  readonly managed: ManagedFilter;
  /** Deadline of one call to the engine. */
  readonly deadline?: Millis;
}

/** Docker's present state: host, networks, running containers and their limits. */
export class DockerReader implements EngineSource {
  readonly #client: DockerClient;
  readonly #managed: ManagedFilter;
  #bridges: ReadonlyMap<string, Bridge> = new Map();
  #listPath = '/containers/json';
  unreadable = 0;
  onBridges: (bridges: readonly Bridge[]) => void = () => undefined;
  onUnreadable: (id: string, error: GleanerError) => void = () => undefined;

  constructor({ socketPath = '/var/run/docker.sock', managed, ...options }: ReaderOptions) {
    this.#managed = managed;
    this.#client = new DockerClient({ socketPath, ...options });
  }

  /** Throws EngineUnavailableError, EngineUnsupportedError (no cgroups to manage). */
  async facts(): Promise<HostFacts> {
    const info = await this.#client.get('/info', infoSchema);
    const driver = info.CgroupDriver;
    if (driver !== 'cgroupfs' && driver !== 'systemd')
      throw new EngineUnsupportedError(
        `the engine's cgroup driver is '${driver}': its containers have no limits of their own`,
      );
    const runtime = await this.#runtime(info.DefaultRuntime);
    return {
      cpu: millicores(info.NCPU * 1000),
      memory: bytes(info.MemTotal),
      cgroupVersion: info.CgroupVersion === '2' ? 2 : 1,
      cgroupDriver: driver,
      engineVersion: info.ServerVersion,
      apiVersion: await this.#client.apiVersion(),
      ...(runtime === null ? {} : { runtime }),
    };
  }

  /** Decides how weights were computed from shares; optional. */
  async #runtime(name: string): Promise<string | null> {
    try {
      const { Components } = await this.#client.get('/version', versionSchema);
      const found = Components?.find((component) => component.Name === name);
      return found === undefined ? null : `${found.Name} ${found.Version}`;
    } catch {
      return null;
    }
  }

  /** If the answer, which has all labels, is too long, asks for managed names only. */
  async list(): Promise<ContainerList> {
    let entries: unknown[];
    try {
      entries = await this.#client.get(this.#listPath, anyList);
    } catch (error) {
      const { prefix } = this.#managed;
      const isTooLong = error instanceof EngineResponseError && !this.#listPath.includes('?');
      if (!isTooLong || prefix === undefined) throw error;
      this.#listPath += `?filters=${encodeURIComponent(JSON.stringify({ name: [prefix] }))}`;
      entries = await this.#client.get(this.#listPath, anyList);
    }
    const listed = readable(entries, listedSchema);
    this.unreadable += listed.unreadable;
    const items = listed.items.map(({ Id, Names, State }) => ({
      id: Id,
      isManaged: Names?.some((name) => this.#managed(name.replace(/^\//, ''))) ?? null,
      isPaused: State === 'paused',
    }));
    const isComplete = !this.#listPath.includes('?');
    return { items, unreadable: listed.unreadable, isComplete };
  }

  isManaged({ name }: ContainerInfo): boolean {
    return this.#managed(name);
  }

  async readBridges(): Promise<void> {
    const networks = readable(await this.#client.get('/networks', anyList), networkSchema);
    this.unreadable += networks.unreadable;
    this.#bridges = bridgesOf(networks.items);
    this.onBridges(
      [...this.#bridges.values()].sort((a, b) => a.interfaceName.localeCompare(b.interfaceName)),
    );
  }

  async inspect(id: string): Promise<ContainerInfo | 'unreadable' | null> {
    try {
      const path = `/containers/${encodeURIComponent(id)}/json`;
      const answer = await this.#client.get(path, inspectSchema);
      if (!answer.State.Running || answer.State.Pid <= 0) return null;
      const networks = Object.values(answer.NetworkSettings?.Networks ?? {});
      if (networks.some((one) => one?.NetworkID && !this.#bridges.has(one.NetworkID)))
        await this.readBridges();
      return containerInfo(answer, this.#bridges);
    } catch (error) {
      if (error instanceof EngineStatusError && (error.status === 404 || error.status === 409))
        return null;
      if (!(error instanceof EngineResponseError)) throw error;
      // One container that cannot be read must not keep the others from being managed.
      this.unreadable++;
      this.onUnreadable(id, error);
      return 'unreadable';
    }
  }

  events(time: EngineTime, listener: EngineEventsListener): EngineEvents {
    return new DockerEvents(this.#client, this.#managed, time, listener);
  }

  close(): void {
    this.#client.close();
  }
}
