import type { Bytes, GleanerError, Micros, Millicores } from '../../../config/index.js';
import type { UserLimits } from '../../decision/index.js';

/** One running container. All but `paused` is fixed, unless its user changes its limits. */
export interface ContainerInfo {
  /** The engine's full identifier. */
  readonly id: string;
  /** Without the leading slash. Not an identity of a function. */
  readonly name: string;
  /** IPv4 address, dotted; null where it has none (host network, IPv6 only). */
  readonly address: string | null;
  /** Host interface of its bridge (`docker0`, `br-…`), null without one. */
  readonly bridge: string | null;
  /** First process, in the host's pid namespace. */
  readonly pid: number;
  /** Wall clock at its start. The clock may have been set since, so it orders nothing. */
  readonly startedAt: Micros;
  readonly paused: boolean;
  readonly user: UserLimits;
  /** On a Kubernetes node. */
  readonly pod?: PodInfo;
}

/** The pod of a container: a cgroup of its own above the container's. */
interface PodInfo {
  readonly uid: string;
  /** User limits of all its containers together. */
  readonly user: UserLimits;
}

/** Where the traffic of containers is seen: a Docker bridge, a node's interfaces, or one pod's. */
export interface Bridge {
  /** `any`: every interface of the host. A pod's name and uid with {@link namespaceOf}. */
  readonly interfaceName: string;
  /** A process in the network namespace whose interfaces are captured; absent: the host's. */
  readonly namespaceOf?: number;
  readonly networkName: string;
  /** The bridge's own address, from which an invoker on the host calls. */
  readonly gateway: string | null;
}

export interface HostFacts {
  readonly cpu: Millicores;
  readonly memory: Bytes;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly engineVersion: string;
  readonly apiVersion: string;
  /** The default container runtime and its version, e.g. `runc 1.1.5+ds1`, if it is known. */
  readonly runtime?: string;
}

/** Why an event of the engine was skipped. The next listing makes up for it. */
export type SkippedEvent = 'huge' | 'malformed' | 'unknown';

/** Calls arrive on the event loop, one at a time; none may block. */
export interface ContainerEngineListener {
  /**
   * In the order of starts: the latest owns its address, even if the end of the earlier owner is
   * announced later. `isFound`: a listing found it running.
   */
  containerStarted(container: ContainerInfo, isFound?: boolean): void;
  /**
   * Once per container that was started. `isMissing`: no event reported its end, but a complete
   * listing or its inspect answer lacks it. An engine that errs may lack one that runs.
   */
  containerEnded(id: string, isMissing?: boolean): void;
  /** Other user limits; it runs on, and all else is unchanged. */
  containerUpdated?(container: ContainerInfo): void;
  containerPaused(id: string, paused: boolean): void;
  /** The engine's `oom` event, which also fires for a child of a container that continues. */
  containerOom(id: string): void;
  /** The engine's answer about a running container cannot be read: what was known still counts. */
  containerUnreadable?(id: string, error: GleanerError): void;
  bridgesChanged(bridges: readonly Bridge[]): void;
  /** A subscribe-list-reconcile pass is complete: what was not announced by now does not run. */
  reconciled(): void;
  eventSkipped?(kind: SkippedEvent): void;
  /** The engine does not answer. Known containers stay, and are compared when it is back. */
  engineDown(error: GleanerError): void;
}

/** The containers that run now. */
export interface Listing {
  readonly containers: readonly ContainerInfo[];
  /** Ids of running containers about which the engine's answer cannot be read. */
  readonly unreadable: readonly string[];
  /** Entries of the engine's list without a readable id. */
  readonly unlisted: number;
}

/** Reads from a container engine: nothing is ever changed through it. */
export interface ContainerEngine {
  /** Resolves after the first complete pass. Reconnects without limit afterwards. */
  start(listener: ContainerEngineListener): Promise<void>;
  stop(): Promise<void>;
  facts(): Promise<HostFacts>;
  /** One container, managed or not; null: it does not run. Absent: the host is simulated. */
  inspect?(id: string): Promise<ContainerInfo | 'unreadable' | null>;
}
