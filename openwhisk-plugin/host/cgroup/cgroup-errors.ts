import { GleanerError } from '../../../config/index.js';

/**
 * The container's cgroup is not there: it ended, its pid was handed on, or it lies outside of what
 * this process can see.
 */
export class CgroupNotFoundError extends GleanerError {
  readonly code = 'GLN_CGROUP_NOT_FOUND';
}

/**
 * This process lives in a cgroup namespace of its own and sees none of the host's (field-notes
 * A2-22).
 */
export class CgroupNamespaceError extends GleanerError {
  readonly code = 'GLN_CGROUP_NAMESPACE';

  constructor(message: string) {
    super(message, {
      hint: 'Run Gleaner on the host, or its container with --cgroupns=host, --pid=host and -v /sys/fs/cgroup:/sys/fs/cgroup:rw.',
    });
  }
}

/** The files are there but may not be written. */
export class CgroupReadOnlyError extends GleanerError {
  readonly code = 'GLN_CGROUP_READ_ONLY';

  constructor(path: string, cause: unknown) {
    super(`${path} cannot be opened for writing`, {
      hint: 'Gleaner needs root and a cgroup file system mounted rw; in a container add --cgroupns=host and -v /sys/fs/cgroup:/sys/fs/cgroup:rw.',
      cause,
    });
  }
}

/** This process may open no more files. */
export class CgroupOpenFilesError extends GleanerError {
  readonly code = 'GLN_CGROUP_OPEN_FILES';

  constructor(path: string, cause: unknown) {
    super(`${path} cannot be opened: this process has too many files open`, {
      hint: 'Raise LimitNOFILE of the unit (or ulimit -Hn) to 65536; gleaner doctor says for how many containers it is enough.',
      cause,
    });
  }
}
