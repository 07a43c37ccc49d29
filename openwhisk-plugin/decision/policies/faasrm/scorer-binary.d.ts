/** WebAssembly of assembly/scorer.ts in base64; `npm run build` writes the module. */
export declare const SCORER_BINARY: string;
