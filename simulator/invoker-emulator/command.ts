import { spawn } from 'node:child_process';
import { CommandFailedError, CommandTimeoutError } from './errors.js';

export interface CommandOptions {
  /** Limit in ms; then SIGTERM. Infinity: none. */
  readonly timeoutMs: number;
  /** Added to this process's environment (`DOCKER_HOST` for a recording proxy). */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs one command and gives its standard output without the last newline. Source:
 * ProcessRunner.executeProcess (core/invoker/…/docker/ProcessRunner.scala @ 1.0.0, 2.0.0,
 * 1fae641a2): lines joined by newline, SIGTERM at the time limit, any status but 0 is an error.
 */
export function runCommand(command: readonly string[], options: CommandOptions): Promise<string> {
  const [file, ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file as string, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ? { ...process.env, ...options.env } : process.env,
    });
    let stdout = '';
    let stderr = '';
    let expired = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const timer = Number.isFinite(options.timeoutMs)
      ? setTimeout(() => {
          expired = true;
          child.kill('SIGTERM');
        }, options.timeoutMs)
      : undefined;
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(new CommandFailedError(command, null, stdout, error.message));
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      if (status === 0) resolve(stdout.replace(/\n$/, ''));
      else if (expired) reject(new CommandTimeoutError(command, options.timeoutMs));
      else reject(new CommandFailedError(command, status, stdout, stderr));
    });
  });
}
