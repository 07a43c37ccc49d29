import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'nats';
import type { Clock, Millis, Timers } from '../../config/index.js';
import { CredentialsError } from '../errors.js';
import { authenticatorFrom, checkSecrecy } from './credentials.js';

export interface NatsOptions {
  readonly servers: readonly string[];
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** A `.creds` file or an nkey seed file. */
  readonly credentialsFile?: string;
  /** First token of the reply subjects; default `_INBOX`. */
  readonly inboxPrefix?: string;
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Most bytes in flight and waiting; beyond it the oldest messages are dropped. */
  readonly backlogBytes?: number;
  readonly storeTimeout?: Millis;
  readonly timers?: Timers;
  readonly clock?: Clock;
}

/** Throws `GLN_BROKER_CREDENTIALS` for invalid files; the server checks the credentials later. */
export function natsConnectionOptions(options: NatsOptions): ConnectionOptions {
  for (const file of [options.tls?.caFile, options.tls?.certFile, options.tls?.keyFile]) {
    if (file === undefined) continue;
    try {
      readFileSync(file);
    } catch (error) {
      throw new CredentialsError(file, error instanceof Error ? error.message : 'cannot be read');
    }
  }
  if (options.tls?.keyFile !== undefined) checkSecrecy(options.tls.keyFile);
  return {
    servers: [...options.servers],
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: 5000,
    pingInterval: 10_000,
    maxPingOut: 2,
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(options.password === undefined ? {} : { pass: options.password }),
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    ...(options.tls ? { tls: options.tls } : {}),
    ...(options.credentialsFile === undefined
      ? {}
      : { authenticator: authenticatorFrom(options.credentialsFile) }),
  };
}
