import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { nkeys } from 'nats';
import { stringify } from 'yaml';
import {
  CredentialsError,
  inboxPrefixOf,
  isHostName,
  permissionsOf,
  ROLES,
  type Role,
} from '../../broker/index.js';
import { UsageError } from '../../config/index.js';
import { type CertificateFiles, certifiedHosts, makeCertificates } from './certificate.js';
import { earlierServer, serverFile } from './earlier-run.js';

/** Where the server listens, and JetStream's folder, unless said otherwise. */
export const LISTEN = '0.0.0.0:4222';
export const STORE = '/var/lib/gleaner-nats';

export interface NatsConfigSettings {
  readonly folder: string;
  /** Null: as an earlier run has it, or {@link LISTEN}. */
  readonly listen: string | null;
  /**
   * Names and addresses of the server; clients are configured with the first. Null: those of the
   * existing certificate, or this machine's.
   */
  readonly hosts: readonly string[] | null;
  /** Null: as an earlier run has it, or {@link STORE}. */
  readonly storeFolder: string | null;
  /**
   * Invoker hosts and agent hosts with their own identity, besides those of an earlier run; none at
   * all: one identity for all.
   */
  readonly hooks: readonly string[];
  readonly agents: readonly string[];
  /** Identities that get a new seed. */
  readonly rotate: readonly string[];
  /** Null: made with openssl. */
  readonly certificates: CertificateFiles | null;
}

/** One user of the server. */
interface Identity {
  /** `viewer` or `hook-<host>`; also the name of its files. */
  readonly name: string;
  readonly role: Role;
  /** The only host that it may publish for; null: any. */
  readonly host: string | null;
  readonly publicKey: string;
}

interface WrittenIdentity extends Identity {
  readonly seed: string;
  readonly config: string;
}

export interface WrittenNatsConfig {
  readonly server: string;
  readonly identities: readonly WrittenIdentity[];
}

type Named = Omit<Identity, 'publicKey'>;

/** `earlier` identities stay, so that a run which does not name them locks no host out. */
function identityNames({ hooks, agents }: NatsConfigSettings, earlier: readonly string[]): Named[] {
  return ROLES.flatMap((role): Named[] => {
    const named = role === 'hook' ? hooks : role === 'agents' ? agents : [];
    for (const host of named)
      if (!isHostName(host))
        throw new UsageError(`invalid host name '${host}'`, {
          hint: 'use letters, digits, - and _',
        });
    const shared: Named = { name: role, role, host: null };
    if (role !== 'hook' && role !== 'agents') return [shared];
    const known = earlier.filter((name) => name.startsWith(`${role}-`));
    const hosts = [...new Set([...named, ...known.map((name) => name.slice(role.length + 1))])];
    const own = hosts.map((host): Named => ({ name: `${role}-${host}`, role, host }));
    return own.length === 0 || earlier.includes(role) ? [shared, ...own] : own;
  });
}

/**
 * Writes a nats-server configuration with least permissions, certificates, and a seed and a
 * configuration for each identity. What an earlier run has made is kept, so it can be repeated to
 * add a host, after an upgrade, or to replace a seed. Secret files have mode 0600.
 */
export function writeNatsConfig(options: NatsConfigSettings): WrittenNatsConfig {
  const earlier = earlierServer(options.folder);
  const names = identityNames(options, earlier.identities);
  for (const name of options.rotate)
    if (!names.some((each) => each.name === name))
      throw new UsageError(`unknown identity '${name}'`, {
        hint: `use one of: ${names.map((n) => n.name).join(', ')}`,
      });
  const listen = options.listen ?? earlier.listen ?? LISTEN;
  const storeFolder = options.storeFolder ?? earlier.storeFolder ?? STORE;
  const port = portOf(listen);
  mkdirSync(options.folder, { recursive: true, mode: 0o755 });
  const at = (name: string): string => join(options.folder, name);
  const hosts = options.hosts ?? knownHosts(options);
  const { ca, certificate, key } = options.certificates ?? makeCertificates(options.folder, hosts);
  const host = hosts[0]!;
  const servers = [`tls://${isIPv6(host) ? `[${host}]` : host}:${port}`];
  const identities = names.map(({ name, role, host }) => {
    const seed = at(`${name}.nk`);
    const config = at(`${name}.yaml`);
    const identity: Identity = {
      name,
      role,
      host,
      publicKey: publicKeyOf(seed, options.rotate.includes(name)),
    };
    const text = `# Identity ${name}: use it with \`gleaner --config\`, or copy the keys.\n`;
    const inboxPrefix = inboxPrefixOf(role);
    const nats = { servers, nkeySeedFile: seed, inboxPrefix, caFile: ca };
    // It may speak for this host only, so its part must have this name.
    const part = host === null ? {} : { [role]: { hostName: host } };
    writeFileSync(config, text + stringify({ ...part, nats }));
    return { ...identity, seed, config };
  });
  const server = serverFile(options.folder);
  const text = serverConfig(listen, storeFolder, certificate, key, identities);
  writeFileSync(server, text, { mode: 0o640 });
  chmodSync(server, 0o640);
  return { server, identities };
}

/** @throws `GLN_USAGE` without a port */
function portOf(listen: string): number {
  const port = Number(/:(\d{1,5})$/.exec(listen)?.[1] ?? 0);
  if (port > 0 && port <= 65_535) return port;
  throw new UsageError(`--listen ${listen} has no port`, {
    hint: 'use ADDRESS:PORT, such as 0.0.0.0:4222',
  });
}

function knownHosts({ folder, certificates }: NatsConfigSettings): string[] {
  const certified = certificates === null ? certifiedHosts(folder) : [];
  return certified.length > 0 ? certified : [hostname(), 'localhost', '127.0.0.1'];
}

/** The public key of the seed in a file, which is made if it is missing or to be replaced. */
function publicKeyOf(file: string, replace: boolean): string {
  const isNew = replace || !existsSync(file);
  try {
    const pair = isNew
      ? nkeys.createUser()
      : nkeys.fromSeed(new TextEncoder().encode(readFileSync(file, 'utf8').trim()));
    if (isNew)
      writeFileSync(file, `${new TextDecoder().decode(pair.getSeed())}\n`, { mode: 0o600 });
    const key = pair.getPublicKey();
    pair.clear();
    return key;
  } catch (error) {
    if (isNew) throw error;
    throw new CredentialsError(file, 'it holds no nkey seed');
  }
}

const quote = (text: string): string => JSON.stringify(text);
const list = (subjects: readonly string[]): string =>
  `[\n${subjects.map((s) => `            ${quote(s)}`).join('\n')}\n          ]`;

/** Modes and leases are small, policies 25 KB each, and trajectories bounded by their stream. */
const MAX_STORE = '4GB';

/** For nats-server 2.9 and newer: TLS, one NKey per identity, unlisted subjects denied. */
function serverConfig(
  listen: string,
  storeFolder: string,
  certificate: string,
  key: string,
  identities: readonly Identity[],
): string {
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
