import { errorClass } from '../../config/index.js';

/** A trace that cannot be read; says where. */
export class TraceError extends errorClass('GLN_TRACE_INVALID') {
  /** One-based, 0 where the file as a whole is meant. */
  readonly line: number;

  constructor(
    file: string,
    line: number,
    problem: string,
    hint = 'docs/traces.md describes the accepted formats',
  ) {
    const where = line > 0 ? `${file}: line ${line}` : file;
    super(where, problem, hint);
    this.line = line;
  }
}
