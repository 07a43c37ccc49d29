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
