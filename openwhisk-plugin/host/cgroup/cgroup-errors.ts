import { errorClass } from '../../../config/index.js';

/**
 * The container's cgroup is not there: it ended, its pid was handed on, or it lies outside of what
 * this process can see.
 */
export class CgroupNotFoundError extends errorClass('GLN_CGROUP_NOT_FOUND') {}

/**
 * This process lives in a cgroup namespace of its own and sees none of the host's.
 */
export class CgroupNamespaceError extends errorClass('GLN_CGROUP_NAMESPACE') {}

/** The files are there but may not be written. */
export class CgroupReadOnlyError extends errorClass('GLN_CGROUP_READ_ONLY') {}

/** This process may open no more files. */
export class CgroupOpenFilesError extends errorClass('GLN_CGROUP_OPEN_FILES') {}
