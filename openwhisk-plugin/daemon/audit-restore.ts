import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type Micros, messageOf } from '../../config/index.js';
import type { RestoreReport } from '../host/cgroup/index.js';
import type { ContainerInfo } from '../host/ports/index.js';
import { AuditRecord, type AuditResource, auditLine, LINE_END } from './audit.js';

export interface RestoreAuthor {
  /** As in {@link AuditRecord}: `restore`, `operator:<name>`. */
  readonly who: string;
  readonly why: string;
}

/** One line for each limit that a restore without a hook changed or failed to change. */
export function restoreLines(
  { restored, failed }: RestoreReport,
  { who, why }: RestoreAuthor,
  at: Micros,
): string {
  let text = '';
  const record = new AuditRecord();
  const begin = (
    container: Pick<ContainerInfo, 'id' | 'name'>,
    resource: AuditResource,
    result: string,
  ): void => {
    record.reset(at);
    record.who = who;
    record.why = why;
    record.resource = resource;
    record.container = container.id;
    record.containerName = container.name;
    record.result = result;
  };
  for (const { container, before, after, shares, quota, memory, protection } of restored) {
    const { user } = container;
    for (const [resource, result, old, demand, readBack] of [
      ['cpu.shares', shares, before.shares, user.shares, after.shares],
      ['cpu.quota', quota, before.quota, user.quota, after.quota],
      ['memory', memory, before.memory, user.memory, after.memory],
      ['memory.low', protection, -1, 0, 0],
    ] as const) {
      // A file that this kernel does not have was never changed.
      if (result === 'unchanged' || result === 'unsupported') continue;
      begin(container, resource, result);
      record.old = old;
      record.new = demand;
      record.readBack = readBack;
      text += auditLine(record);
    }
  }
  for (const { container, error } of failed) {
    begin(container, 'none', `failed: ${messageOf(error)}`);
    text += auditLine(record);
  }
  return text;
}

/**
 * Appends lines to an audit log that a hook may have open. Throws the file system's error; whole
 * lines may be written then.
 */
export function appendToAudit(path: string, text: string): void {
  if (text === '') return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = openSync(path, flags, 0o600);
  try {
    // An older file may have another mode; names of functions are private.
    fchmodSync(file, 0o600);
    const { size } = fstatSync(file);
    const last = Buffer.from('\n');
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    // A killed hook may have left an incomplete line.
    const data = Buffer.from(last.toString() === '\n' ? text : `\n${text}`, 'utf8');
    appendLines(file, data);
  } finally {
    closeSync(file);
  }
}

/** A line that a full disk cuts off is removed. */
function appendLines(file: number, data: Buffer): void {
  let written = 0;
  try {
    while (written < data.length) written += writeSync(file, data, written);
  } catch (error) {
    const whole = data.subarray(0, written).lastIndexOf(LINE_END) + 1;
    // From the current end, because the hook may have appended too.
    if (whole < written) ftruncateSync(file, fstatSync(file).size - (written - whole));
    throw error;
  }
}
