import { type FunctionOverride, MIB, type PolicyKind } from '../../config/index.js';
import type { ActivationPolicy, Grant, PolicyContext, Run } from '../decision/index.js';

type Bounds = NonNullable<FunctionOverride['bounds']>;

/** Clips another policy's choice to the operator's bounds. The safeguard decides after it. */
export class BoundedPolicy implements ActivationPolicy {
  readonly name: string;
  readonly kind: PolicyKind = 'both';
  readonly predicts: boolean;
  readonly #range: ActivationPolicy;
  /** Null: the container's own weight. */
  readonly #weight: ActivationPolicy | null;
  readonly #cpu: readonly [min: number, max: number];
  readonly #memory: readonly [min: number, max: number];

  constructor(range: ActivationPolicy, weight: ActivationPolicy | null, bounds: Bounds) {
    this.name = range.name;
    this.predicts = range.predicts === true;
    this.#range = range;
    this.#weight = weight;
    const { cpuMillicores: cpu, memoryMiB: memory } = bounds;
    this.#cpu = [cpu?.min ?? 0, cpu?.max ?? Number.POSITIVE_INFINITY];
    this.#memory = [(memory?.min ?? 0) * MIB, (memory?.max ?? Number.POSITIVE_INFINITY) * MIB];
  }

  choose(run: Run, grant: Grant, context: PolicyContext): number {
    const isCpu = grant === run.cpu;
    // A weight factor is not an amount, so bounds do not apply.
    if (isCpu && run.container.mode === 'weight')
      return this.#weight?.choose(run, grant, context) ?? 1;
    const requested = this.#range.choose(run, grant, context);
    const [min, max] = isCpu ? this.#cpu : this.#memory;
    // A value that is not finite stays so, which means user limits.
    return Math.min(max, Math.max(min, requested));
  }

  revise(run: Run, used: number, context: PolicyContext): number {
    const weight = this.#weight;
    if (weight?.revise === undefined) {
      const own = run.container.user.shares * run.fn.rightSizeFactor * context.commonWeight;
      return run.shares / own;
    }
    return weight.revise(run, used, context);
  }

  revisesAt(run: Run, used: number, context: PolicyContext): number {
    return this.#weight?.revisesAt?.(run, used, context) ?? Number.POSITIVE_INFINITY;
  }

  learn(run: Run, duration: number, context: PolicyContext, now: number): void {
    const policy = run.container.mode === 'weight' ? this.#weight : this.#range;
    policy?.learn?.(run, duration, context, now);
  }
}
