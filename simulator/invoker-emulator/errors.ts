import { errorClass } from '../../config/index.js';

/** A docker or runc command ended with a status other than 0. */
export class CommandFailedError extends errorClass('GLN_EMULATOR_COMMAND_FAILED') {
  /** Exit status; null where a signal ended it. */
  readonly exitStatus: number | null;
  readonly stdout: string;

  constructor(
    command: readonly string[],
    exitStatus: number | null,
    stdout: string,
    stderr: string,
  ) {
    super(command.join(' '), exitStatus ?? 'a signal', stderr.trim() || stdout.trim());
    this.exitStatus = exitStatus;
    this.stdout = stdout;
  }
}

/** A docker or runc command took longer than its limit and was ended by SIGTERM. */
export class CommandTimeoutError extends errorClass('GLN_EMULATOR_COMMAND_TIMEOUT') {
  constructor(command: readonly string[], timeoutMs: number) {
    super(command.join(' '), timeoutMs);
  }
}

/** The docker client is not where OpenWhisk looks for it. */
export class DockerMissingError extends errorClass('GLN_EMULATOR_NO_DOCKER') {
  constructor(tried: readonly string[]) {
    super(tried.join(', '));
  }
}

/**
 * A warm container does not take the connection, or says that it shuts down: the activation goes to
 * another container.
 */
export class ContainerHealthError extends errorClass('GLN_EMULATOR_CONTAINER_HEALTH') {}

/** The action or parameters cannot be run. */
export class InvalidActionError extends errorClass('GLN_EMULATOR_INVALID_ACTION') {}

/** The action image could not be made. */
export class ImageBuildError extends errorClass('GLN_EMULATOR_IMAGE') {}

/** The end markers of an activation's log did not come. */
export class LogsIncompleteError extends errorClass('GLN_EMULATOR_LOGS_INCOMPLETE') {}
