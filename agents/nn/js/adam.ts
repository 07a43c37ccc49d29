import type { AdamSettings } from '../network.js';

export function sumOfSquares(gradient: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < gradient.length; i++) sum += gradient[i]! * gradient[i]!;
  return sum;
}

/** Adam with bias correction (Kingma, Ba 2015, algorithm 1); `steps` counts this one. */
export function adamStep(
  parameters: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  steps: number,
  { learningRate, beta1, beta2, epsilon }: AdamSettings,
  scale: number,
): void {
  const correct1 = 1 - beta1 ** steps;
  const correct2 = 1 - beta2 ** steps;
  for (let i = 0; i < parameters.length; i++) {
    const g = gradient[i]! * scale;
    first[i] = beta1 * first[i]! + (1 - beta1) * g;
    second[i] = beta2 * second[i]! + (1 - beta2) * g * g;
    parameters[i]! -=
      (learningRate * (first[i]! / correct1)) / (Math.sqrt(second[i]! / correct2) + epsilon);
  }
}
