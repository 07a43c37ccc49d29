import { z } from 'zod';
import { key, optionalFile, optionalText, section } from '../keys.js';

/** An `@` behind the host is the end of a password that has `/`, `?` or `#`. */
function isServer(text: string): boolean {
  const [, rest] = /^(?:nats|tls|ws|wss):(\/\/\S+)$/.exec(text) ?? [];
  // Only the syntax of `http` URLs has checked hosts and ports.
  if (rest === undefined || !URL.canParse(`http:${rest}`)) return false;
  const { pathname, search, hash } = new URL(`http:${rest}`);
  return !`${pathname}${search}${hash}`.includes('@');
}

export const natsSchema = section(
  'The message bus. Without servers, `gleaner up` starts its own nats-server on loopback.',
  {
    servers: key(
      z.array(z.string().refine(isServer, 'must be a URL like nats://host:4222')),
      [],
      'NATS servers to connect to; empty: the embedded server of `gleaner up`.',
    ),
    credentialsFile: optionalFile(
      'File with user JWT and NKey (`.creds`), readable by its owner only; null: none.',
    ),
    nkeySeedFile: optionalFile('File with an NKey seed, readable by its owner only; null: none.'),
    inboxPrefix: key(
      z
        .string()
        .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')
        .nullable(),
      null,
      'Prefix of reply subjects that the NATS user may use (see `gleaner nats-config`); null: ' +
        '`_INBOX`.',
    ),
    caFile: optionalFile("CA certificate to check the server against; null: the system's."),
    certFile: optionalFile('Client certificate (with `keyFile`); null: none.'),
    keyFile: optionalFile('Key of the client certificate; null: none.'),
    embedded: section('The nats-server that `gleaner up` starts if no servers are configured.', {
      binary: key(
        optionalText(),
        null,
        'Path of nats-server (>= 2.9); null: looked for on PATH and in `.nats-server/`.',
        { path: 'name' },
      ),
    }),
  },
);
