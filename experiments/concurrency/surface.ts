/**
 * What a held limit brings, without noise. A load that always fills the limit is assumed, as
 * Schuler's 500 concurrent requests did.
 */
export interface Surface {
  readonly name: string;
  readonly about: string;
  /** Successful activations a second at a limit. */
  throughput(limit: number): number;
  /** Mean use over the container's limit, in [0, 1]. */
  cpu(limit: number): number;
  memory(limit: number): number;
}

/**
 * Gunther's universal scalability law: n activations at once, of which the share `contention` waits
 * for one another and every pair costs `coherency`. Its top lies at sqrt((1 - contention) /
 * coherency).
 */
export const scalability = (n: number, contention: number, coherency: number): number =>
  n / (1 + contention * (n - 1) + coherency * n * (n - 1));

/** Coherency that puts the law's top at `best`. */
const coherencyFor = (best: number, contention: number): number => (1 - contention) / best ** 2;

const FULL = 310;

function lawSurface(
  name: string,
  about: string,
  best: number,
  contention: number,
  perActivation: number,
): Surface {
  const coherency = coherencyFor(best, contention);
  const law = (limit: number): number => scalability(limit, contention, coherency);
  const top = law(best);
  return {
    name,
    about,
    throughput: (limit) => (500 * law(limit)) / top,
    // Past the top the cores stay busy, with nothing to show for it.
    cpu: (limit) => (limit >= best ? 0.95 : (0.95 * law(limit)) / top),
    memory: (limit) => Math.min(1, 0.1 + perActivation * limit),
  };
}

/** Straight up to `from`, flat to `to`, straight down to `end` of the top at limit 310. */
function plateauSurface(
  name: string,
  about: string,
  from: number,
  to: number,
  end: number,
): Surface {
  const share = (limit: number): number => {
    if (limit < from) return limit / from;
    return limit <= to ? 1 : 1 - ((1 - end) * (limit - to)) / (FULL - to);
  };
  return {
    name,
    about,
    throughput: (limit) => 500 * share(limit),
    cpu: (limit) => 0.9 * Math.min(1, limit / from),
    memory: (limit) => Math.min(1, 0.1 + limit / 400),
  };
}

/** In [Schuler] profile 7 (sleep) was best at 70 and profile 10 (memory) at 10. */
export const SURFACES: readonly Surface[] = [
  lawSurface('optimum-70', 'activations that sleep: best at 70', 70, 0, 1 / 400),
  lawSurface('optimum-10', 'activations that fill memory: best at 10', 10, 0.05, 1 / 120),
  plateauSurface('plateau', 'flat from 130 to 210, falling after', 130, 210, 0.5),
  plateauSurface(
    'plateau-100',
    'flat from 70 to 150: the constant limit 100 is as good as can be',
    70,
    150,
    0.5,
  ),
  lawSurface('blunt-70', 'best at 70, within 5 % of it from 50 to 110', 70, 0.05, 1 / 400),
];
