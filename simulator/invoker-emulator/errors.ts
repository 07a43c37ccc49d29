import { GleanerError } from '../../config/index.js';

/** A docker or runc command ended with a status other than 0. */
export class CommandFailedError extends GleanerError {
  readonly code = 'GLN_DOUBLE_COMMAND_FAILED';
  /** Exit status; null where a signal ended it. */
  readonly exitStatus: number | null;
  readonly stdout: string;

  constructor(
    command: readonly string[],
    exitStatus: number | null,
    stdout: string,
    stderr: string,
  ) {
    super(
      `${command.join(' ')} ended with ${exitStatus ?? 'a signal'}: ${stderr.trim() || stdout.trim()}`,
      {
        hint: 'Run the same command by hand: the engine may be down or the image missing.',
      },
    );
    this.exitStatus = exitStatus;
    this.stdout = stdout;
  }
}

/** A docker or runc command took longer than its limit and was ended by SIGTERM. */
export class CommandTimeoutError extends GleanerError {
  readonly code = 'GLN_DOUBLE_COMMAND_TIMEOUT';

  constructor(command: readonly string[], timeoutMs: number) {
    super(`${command.join(' ')} was ended after ${timeoutMs} ms`, {
      hint: 'The engine is overloaded or hangs; look at its log.',
    });
  }
}

/** The docker client is not where OpenWhisk looks for it. */
export class DockerMissingError extends GleanerError {
  readonly code = 'GLN_DOUBLE_NO_DOCKER';

  constructor(tried: readonly string[]) {
    super(`no docker client (tried ${tried.join(', ')})`, {
      hint: 'Install the docker command-line client.',
    });
  }
}

/**
 * A warm container does not take the connection, or says that it shuts down: the activation goes to
 * another container.
 */
export class ContainerHealthError extends GleanerError {
  readonly code = 'GLN_DOUBLE_CONTAINER_HEALTH';

  constructor(where: string, cause?: unknown) {
    super(`container does not answer at ${where}`, {
      hint: 'The activation is given to another container.',
      cause,
    });
  }
}

/** What was given to the double cannot be run. */
export class InvalidActionError extends GleanerError {
  readonly code = 'GLN_DOUBLE_INVALID_ACTION';

  constructor(message: string) {
    super(message, { hint: 'See simulator/invoker-emulator/README.md for what an action is.' });
  }
}

/** The action image could not be made. */
export class ImageBuildError extends GleanerError {
  readonly code = 'GLN_DOUBLE_IMAGE';

  constructor(message: string, cause?: unknown) {
    super(message, {
      hint: 'The image is made of this host’s node and its libraries: docker, tar and ldd are needed.',
      cause,
    });
  }
}

/** The end markers of an activation's log did not come. */
export class LogsIncompleteError extends GleanerError {
  readonly code = 'GLN_DOUBLE_LOGS_INCOMPLETE';

  constructor(container: string) {
    super(`the log of ${container} has no end markers`, {
      hint: 'The action proxy prints them; the container is removed.',
    });
  }
}
