import { type Broker, buckets, functionName, type Logger } from '../../broker/index.js';
import { type ActionSettings, decodeActionSettings } from '../../broker/messages/index.js';
import { type Bytes, MIB, type Millicores } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';

type Bound = { readonly min?: number | undefined; readonly max?: number | undefined } | undefined;

const clip = (value: number, bound: Bound, unit: number): number =>
  Math.min(
    (bound?.max ?? Number.POSITIVE_INFINITY) * unit,
    Math.max((bound?.min ?? 0) * unit, value),
  );

/** The decision, clipped to the bounds that the action's owner set by annotation. */
export function withinBounds(decision: Decision, bounds: ActionSettings['bounds']): Decision {
  if (bounds === undefined) return decision;
  const { cpu, memory, nominalMemory } = decision;
  return {
    ...decision,
    ...(cpu === undefined ? {} : { cpu: clip(cpu, bounds.cpuMillicores, 1) as Millicores }),
    ...(memory === undefined ? {} : { memory: clip(memory, bounds.memoryMiB, MIB) as Bytes }),
    ...(nominalMemory === undefined
      ? {}
      : { nominalMemory: clip(nominalMemory, bounds.memoryMiB, MIB) as Bytes }),
  };
}

/**
 * Follows the bucket `gleaner_actions`, the owners' annotations. Agents need only the bounds: hooks
 * apply the SLO, CPU and mode, and report them in observations.
 */
export class ActionSettingsWatch {
  readonly #settings = new Map<string, ActionSettings>();
  readonly #stop: () => void;

  constructor(broker: Broker, logger: Logger) {
    const watch = broker.keyValue(buckets.actions).watch(({ key, value }) => {
      const fn = functionName(key);
      if (fn === null) return;
      if (value === null) {
        this.#settings.delete(fn);
        return;
      }
      const decoded = decodeActionSettings(value);
      if (decoded.ok && decoded.message.function === fn) this.#settings.set(fn, decoded.message);
      else logger.warn({ key }, 'settings of an action refused: not valid');
    });
    watch.ready.catch(() => undefined);
    this.#stop = () => watch.stop();
  }

  of(fn: string): ActionSettings | null {
    return this.#settings.get(fn) ?? null;
  }

  stop(): void {
    this.#stop();
  }
}
