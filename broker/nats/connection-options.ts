import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'nats';
import { type Clock, type Millis, messageOf, type Timers } from '../../config/index.js';
import { CredentialsError } from '../errors.js';
import { authenticatorFrom, checkSecrecy } from './credentials.js';

export interface NatsOptions {
  readonly servers: readonly string[];
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** A `.creds` file or an nkey seed file. */
  readonly credentialsFile?: string | null;
  /** First token of the reply subjects; default `_INBOX`. */
  readonly inboxPrefix?: string | null;
  readonly caFile?: string | null;
  readonly certFile?: string | null;
  readonly keyFile?: string | null;
  /** Most bytes in flight and waiting; beyond it the oldest messages are dropped. */
  readonly backlogBytes?: number;
  readonly storeTimeout?: Millis;
  /** Interval at which subscriptions that the server refuses are tried again; default 15 s. */
  readonly refusedRetryInterval?: Millis;
  readonly timers?: Timers;
  readonly clock?: Clock;
}

/** Throws `GLN_BROKER_CREDENTIALS` for invalid files; the server checks the credentials later. */
export function natsConnectionOptions(options: NatsOptions): ConnectionOptions {
  const { caFile, certFile, keyFile } = options;
  const tls = Object.fromEntries(
    Object.entries({ caFile, certFile, keyFile }).flatMap(([name, file]) =>
      file ? [[name, file]] : [],
    ),
  );
  for (const file of Object.values(tls)) {
    try {
      readFileSync(file);
    } catch (error) {
      throw new CredentialsError(file, messageOf(error));
    }
  }
  if (keyFile) checkSecrecy(keyFile);
  return {
    servers: [...options.servers],
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: 5000,
    pingInterval: 10_000,
    maxPingOut: 2,
    ...(options.user ? { user: options.user, pass: options.password ?? '' } : {}),
    ...(options.token ? { token: options.token } : {}),
    ...(options.inboxPrefix ? { inboxPrefix: options.inboxPrefix } : {}),
    ...(caFile || certFile ? { tls } : {}),
    ...(options.credentialsFile
      ? { authenticator: authenticatorFrom(options.credentialsFile) }
      : {}),
  };
}
