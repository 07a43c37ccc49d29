import { errorClass } from '../../../config/index.js';

/** The container ended, its pid was reused, or this process cannot see its cgroup. */
export class CgroupNotFoundError extends errorClass('GLN_CGROUP_NOT_FOUND') {}

/** This process is in a cgroup namespace of its own and sees none of the host's. */
export class CgroupNamespaceError extends errorClass('GLN_CGROUP_NAMESPACE') {}

/** The files are there but may not be written. */
export class CgroupReadOnlyError extends errorClass('GLN_CGROUP_READ_ONLY') {}

/** This process may open no more files. */
export class CgroupOpenFilesError extends errorClass('GLN_CGROUP_OPEN_FILES') {}

/** Containers, in one text, that do not have their user limits, or may not have them. */
export class LimitsNotRestoredError extends errorClass('GLN_LIMITS_NOT_RESTORED') {}
