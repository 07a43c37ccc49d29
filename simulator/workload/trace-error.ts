import { GleanerError } from '../../config/index.js';

/** A trace that cannot be read; says where. */
export class TraceError extends GleanerError {
  readonly code = 'GLN_TRACE_INVALID';
  /** One-based, 0 where the file as a whole is meant. */
  readonly line: number;

  constructor(
    file: string,
    line: number,
    message: string,
    hint = 'simulator/workload/README.md says what is accepted',
  ) {
    super(line > 0 ? `${file}: line ${line}: ${message}` : `${file}: ${message}`, { hint });
    this.line = line;
  }
}
