import { type Contribution, LeaveOneOut, type Others } from '../../../broker/mean-field/index.js';
import type { MeanField } from '../../../broker/messages/index.js';
import type { Bytes, Millicores } from '../../../config/index.js';
import type { ClusterTotals, ScalingState } from './state.js';

const HOST = 'agents';
const BOOT = 'autoscaling';

/**
 * The mean field where all agents live on one host and no message is late: the product's own sums
 * and leave-one-out.
 */
export class LocalMeanField {
  readonly #leaveOneOut = new LeaveOneOut(HOST, BOOT);
  #field: MeanField | null = null;
  #sequence = 0;

  /** One step: what each agent has seen and what it last did (containers, cpu, memory). */
  step(
    names: readonly string[],
    allObserved: readonly ScalingState[],
    states: readonly (readonly number[])[],
    actions: readonly (readonly number[])[],
    { capacity }: ClusterTotals,
  ): void {
    const contributions = new Map<string, Contribution>();
    names.forEach((name, i) => {
      const { cpu, memory, containers } = allObserved[i]!.held;
      const total = {
        cpu: (cpu * containers) as Millicores,
        memory: (memory * containers) as Bytes,
      };
      contributions.set(name, {
        state: states[i]!,
        actions: actions[i]!,
        allocated: { ...total, containers },
        demand: total,
      });
    });
    const sequence = ++this.#sequence;
    const totals = this.#leaveOneOut.record(sequence, contributions);
    this.#field = {
      v: 1,
      host: HOST,
      boot: BOOT,
      sequence,
      epoch: 1,
      totals,
      capacity: { cpu: capacity as Millicores, memory: 0 as Bytes },
      hosts: [],
      batches: [{ host: HOST, boot: BOOT, sequence }],
    };
  }

  others(name: string): Others | null {
    return this.#field === null ? null : this.#leaveOneOut.others(this.#field, name);
  }
}
