/** What a segment works on, and what the change scenarios make larger. */
export type InputKind = 'file' | 'table' | 'operations' | 'image' | 'document' | 'matrix' | 'none';

/**
 * The published sizes of the change scenarios [AWARE]: medians before and after, and the unit that
 * demand grows with. File {128, 256, 384} → {512, 768, 1024} KB; table 1024 → 10240 items; 10^8 → 2
 * x 10^8 operations; image 40x40 → 160x160 pixels; JSON {250, 500, 1000} B → {2, 3, 5} KB; matrix
 * 50 → 150 rows.
 */
export const INPUTS: Readonly<
  Record<InputKind, { readonly unit: string; readonly before: number; readonly after: number }>
> = {
  file: { unit: 'KB', before: 256, after: 768 },
  table: { unit: 'items', before: 1024, after: 10_240 },
  operations: { unit: 'operations', before: 1e8, after: 2e8 },
  image: { unit: 'pixels', before: 40 * 40, after: 160 * 160 },
  document: { unit: 'B', before: 500, after: 3000 },
  matrix: { unit: 'rows', before: 50, after: 150 },
  none: { unit: '', before: 1, after: 1 },
};

/** A part that grows: fixed + variable x (size / size before)^growth. */
interface Grows {
  readonly fixed: number;
  readonly variable: number;
  readonly growth: number;
}

export interface Segment {
  readonly input: InputKind;
  /** CPU, core-ms. */
  readonly cpu: Grows;
  /** Waits without a core, ms. */
  readonly io: Grows;
  /** Working set above the runtime's, MiB. */
  readonly memory: Grows;
}

const grows = (fixed: number, variable = 0, growth = 1): Grows => ({ fixed, variable, growth });

/**
 * The 16 segments of the generator in [AWARE artifact]. Their names are published, their demand is
 * not: **assumption**, of the size that such work has in Node.js or Python on a 3 GHz core and with
 * a store in the same zone.
 */
export const SEGMENTS = {
  compress: { input: 'file', cpu: grows(1, 12), io: grows(0), memory: grows(2, 3) },
  decompress: { input: 'file', cpu: grows(1, 4), io: grows(0), memory: grows(2, 4) },
  floatOperations: { input: 'operations', cpu: grows(1, 300), io: grows(0), memory: grows(1) },
  imageCompress: { input: 'image', cpu: grows(4, 2), io: grows(0), memory: grows(12, 1) },
  imageResize: { input: 'image', cpu: grows(4, 1.5), io: grows(0), memory: grows(12, 1) },
  imageRotate: { input: 'image', cpu: grows(4, 1), io: grows(0), memory: grows(12, 1) },
  json2yaml: { input: 'document', cpu: grows(1, 2), io: grows(0), memory: grows(3, 0.5) },
  // The cube of the rows, memory their square.
  matMul: { input: 'matrix', cpu: grows(1, 5, 3), io: grows(0), memory: grows(8, 0.5, 2) },
  readFile: { input: 'file', cpu: grows(0.5, 0.5), io: grows(1, 1.5), memory: grows(1, 0.5) },
  sleep: { input: 'none', cpu: grows(0.3), io: grows(100), memory: grows(0) },
  writeFile: { input: 'file', cpu: grows(0.5, 0.8), io: grows(2, 4), memory: grows(1, 0.5) },
  S3Read: { input: 'file', cpu: grows(2, 1), io: grows(25, 6), memory: grows(6, 1) },
  S3Stream: { input: 'file', cpu: grows(2, 2), io: grows(30, 8), memory: grows(6, 0.5) },
  S3Write: { input: 'file', cpu: grows(2, 1), io: grows(35, 10), memory: grows(6, 1) },
  dynamoRead: { input: 'table', cpu: grows(1.5, 2), io: grows(8, 6), memory: grows(6, 1) },
  dynamoWrite: { input: 'table', cpu: grows(1.5, 2), io: grows(12, 10), memory: grows(6, 1) },
} as const satisfies Readonly<Record<string, Segment>>;

export type SegmentName = keyof typeof SEGMENTS;

export const SEGMENT_NAMES = Object.keys(SEGMENTS) as readonly SegmentName[];

/** Value of a growing part at `ratio` x the size before. */
export function grownTo({ fixed, variable, growth }: Grows, ratio: number): number {
  return fixed + variable * ratio ** growth;
}

/**
 * Exponent by which a growing part follows small changes of the size at `ratio`: its elasticity.
 */
export function elasticity({ variable, growth }: Grows, ratio: number): number {
  return growth * variable * ratio ** growth;
}
