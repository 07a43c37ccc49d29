import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { isHostName, ROLES } from '../../broker/index.js';
import { UsageError } from '../../config/index.js';
import { type CertificateFiles, makeCertificates } from './certificate.js';
import { publicKeyOf } from './seeds.js';
import { clientConfig, type Identity, serverConfig } from './server-config.js';

export interface NatsConfigSettings {
  readonly folder: string;
  readonly listen: string;
  /**
   * Names and addresses by which clients reach the server; the first one goes into their
   * configuration.
   */
  readonly hosts: readonly string[];
  readonly storeFolder: string;
  /** Invoker hosts and agent hosts with an identity of their own; without any, one for all. */
  readonly hooks: readonly string[];
  readonly agents: readonly string[];
  /** Names of identities whose seeds are made anew. */
  readonly rotate: readonly string[];
  /** Null: made here. */
  readonly certificates: CertificateFiles | null;
}

export interface WrittenIdentity extends Identity {
  readonly seed: string;
  readonly config: string;
}

export interface WrittenNatsConfig {
  readonly server: string;
  readonly identities: readonly WrittenIdentity[];
}

type Named = Omit<Identity, 'publicKey'>;

function identityNames({ hooks, agents }: NatsConfigSettings): Named[] {
  return ROLES.flatMap((role): Named[] => {
    const hosts = role === 'hook' ? hooks : role === 'agents' ? agents : [];
    for (const host of hosts)
      if (!isHostName(host))
        throw new UsageError(`'${host}' cannot name a host on NATS`, {
          hint: 'use letters, digits, - and _',
        });
    if (hosts.length === 0) return [{ name: role, role, host: null }];
    return hosts.map((host) => ({ name: `${role}-${host}`, role, host }));
  });
}

/**
 * Writes a nats-server configuration with least permissions, certificates, and for each identity a
 * seed and a configuration. What is there stays: seeds and certificates are kept, so it may be run
 * again to add a host. Every file of secrets has mode 0600.
 */
export function writeNatsConfig(options: NatsConfigSettings): WrittenNatsConfig {
  const names = identityNames(options);
  for (const name of options.rotate)
    if (!names.some((each) => each.name === name))
      throw new UsageError(`no identity is called '${name}'`, {
        hint: `one of ${names.map((n) => n.name).join(', ')}`,
      });
  mkdirSync(options.folder, { recursive: true, mode: 0o755 });
  const at = (name: string): string => join(options.folder, name);
  const { ca, certificate, key } =
    options.certificates ?? makeCertificates(options.folder, options.hosts);
  const port = options.listen.slice(options.listen.lastIndexOf(':') + 1);
  const servers = [`tls://${options.hosts[0]}:${port}`];
  const identities = names.map(({ name, role, host }) => {
    const seed = at(`${name}.nk`);
    const config = at(`${name}.yaml`);
    const identity: Identity = {
      name,
      role,
      host,
      publicKey: publicKeyOf(seed, options.rotate.includes(name)),
    };
    const text = `# Of whoever runs as ${name}: \`gleaner --config\` this, or put it into your configuration.\n`;
    writeFileSync(config, text + stringify(clientConfig(identity, { seed, ca }, servers)));
    return { ...identity, seed, config };
  });
  const server = at('nats-server.conf');
  const { listen, storeFolder } = options;
  writeFileSync(server, serverConfig({ listen, storeFolder, certificate, key, identities }), {
    mode: 0o640,
  });
  chmodSync(server, 0o640);
  return { server, identities };
}
