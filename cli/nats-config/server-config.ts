import { inboxPrefixOf, permissionsOf, type Role } from '../../broker/index.js';

/** One user of the server. */
export interface Identity {
  /** `viewer` or `hook-<host>`; also the name of its files. */
  readonly name: string;
  readonly role: Role;
  /** The only host that it may publish for; null: any. */
  readonly host: string | null;
  readonly publicKey: string;
}

export interface ServerSettings {
  /** `address:port`. */
  readonly listen: string;
  readonly storeFolder: string;
  readonly certificate: string;
  readonly key: string;
  readonly identities: readonly Identity[];
}

const quote = (text: string): string => JSON.stringify(text);
const list = (subjects: readonly string[]): string =>
  `[\n${subjects.map((s) => `            ${quote(s)}`).join('\n')}\n          ]`;

/** Modes and leases are small, policies 25 KB each, and trajectories bounded by their stream. */
const MAX_STORE = '4GB';

/** For nats-server 2.9 and newer: TLS, one NKey per identity, unlisted subjects denied. */
export function serverConfig({
  listen,
  storeFolder,
  certificate,
  key,
  identities,
}: ServerSettings): string {
  const users = identities.map(({ name, role, host, publicKey }) => {
    const { publish, subscribe } = permissionsOf(role, host ?? undefined);
    return [
      `      # ${name}`,
      '      {',
      `        nkey: ${publicKey}`,
      '        permissions: {',
      `          publish: { allow: ${list(publish)} }`,
      `          subscribe: { allow: ${list(subscribe)} }`,
      '        }',
      '      }',
    ].join('\n');
  });
  return `# Written by \`gleaner nats-config\`; do not edit, run it again. Seeds are in other files.
listen: ${quote(listen)}
server_name: gleaner
max_payload: 1MB
# Slow clients are disconnected; Gleaner reconnects.
write_deadline: "5s"
jetstream { store_dir: ${quote(storeFolder)}, max_file_store: ${MAX_STORE} }
tls { cert_file: ${quote(certificate)}, key_file: ${quote(key)}, timeout: 5 }
accounts {
  GLEANER {
    jetstream: enabled
    users: [
${users.join('\n')}
    ]
  }
}
`;
}

/** The section `nats` of the configuration for an identity. */
export function clientConfig(
  identity: Identity,
  files: { seed: string; ca: string },
  servers: readonly string[],
): object {
  return {
    nats: {
      servers,
      nkeySeedFile: files.seed,
      inboxPrefix: inboxPrefixOf(identity.role),
      caFile: files.ca,
    },
  };
}
