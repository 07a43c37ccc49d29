/** Consecutive steps on one host, and the input after the last. */
export interface HostSegment<Step> {
  readonly steps: readonly Step[];
  readonly after: Float32Array;
}

/** Each step of a segment, and the input that followed it. */
export function* transitionsOf<Step extends { readonly input: Float32Array }>({
  steps,
  after,
}: HostSegment<Step>): Generator<{ readonly step: Step; readonly next: Float32Array }> {
  for (const [i, step] of steps.entries()) yield { step, next: steps[i + 1]?.input ?? after };
}

/** Steps of a function on all its hosts; a step follows only from the one before on its host. */
export class StepsByHost<Step> {
  /** Steps since the last `take`. */
  count = 0;
  readonly #open = new Map<string, { readonly steps: Step[]; after: Float32Array }>();
  #closed: HostSegment<Step>[] = [];

  /** `after`: the host's input after the step. */
  add(host: string, step: Step, after: Float32Array): void {
    const open = this.#open.get(host);
    if (open === undefined) this.#open.set(host, { steps: [step], after });
    else {
      open.steps.push(step);
      open.after = after;
    }
    this.count++;
  }

  /** The next step on the host does not follow from the last; absent: on any host. */
  cut(host?: string): void {
    for (const one of host === undefined ? [...this.#open.keys()] : [host]) {
      const open = this.#open.get(one);
      if (open !== undefined) this.#closed.push(open);
      this.#open.delete(one);
    }
  }

  /** All segments; none is left. */
  take(): readonly HostSegment<Step>[] {
    this.cut();
    const segments = this.#closed;
    this.#closed = [];
    this.count = 0;
    return segments;
  }
}
