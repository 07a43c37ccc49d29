/** Cosine of two embeddings, the similarity of two workloads [AWARE]; 0 if one is unknown. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let squaresA = 0;
  let squaresB = 0;
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!;
    squaresA += a[i]! * a[i]!;
    squaresB += b[i]! * b[i]!;
  }
  const length = Math.sqrt(squaresA * squaresB);
  return length > 0 ? product / length : 0;
}

/** The entry with the most similar embedding, the first of equals; null if there is none. */
export function mostSimilar<T extends { readonly embedding: Float32Array }>(
  embedding: Float32Array,
  among: Iterable<T>,
): { readonly entry: T; readonly similarity: number } | null {
  let best: { entry: T; similarity: number } | null = null;
  for (const entry of among) {
    const similarity = cosine(embedding, entry.embedding);
    if (best === null || similarity > best.similarity) best = { entry, similarity };
  }
  return best;
}

/**
 * Pulls embeddings of the same workload together and pushes those of others apart: the normalized
 * temperature-scaled cross-entropy (Chen et al. 2020) over pairs. Embedding 2 i and 2 i + 1 are of
 * the same workload. Returns the loss and writes dL/d embeddings (as if of length 1, times
 * `weight`).
 */
export function contrastive(
  embeddings: readonly Float32Array[],
  temperature: number,
  weight: number,
  gradients: readonly Float32Array[],
): number {
  const n = embeddings.length;
  const length = Math.sqrt(embeddings[0]!.reduce((sum, one) => sum + one * one, 0)) || 1;
  const unit = embeddings.map((one) => one.map((value) => value / length));
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const partner = i ^ 1;
    const logits = unit.map((other, j) =>
      j === i ? Number.NEGATIVE_INFINITY : cosine(unit[i]!, other) / temperature,
    );
    const most = Math.max(...logits);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
    loss += (most + Math.log(sum) - logits[partner]!) / n;
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      const share = Math.exp(logits[j]! - most) / sum - (j === partner ? 1 : 0);
      const factor = (weight * share) / (temperature * n * length);
      for (let k = 0; k < unit[i]!.length; k++) {
        gradients[i]![k]! += factor * unit[j]![k]!;
        gradients[j]![k]! += factor * unit[i]![k]!;
      }
    }
  }
  return loss;
}
