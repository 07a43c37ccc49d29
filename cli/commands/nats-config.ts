import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../config/index.js';
import { left, table } from '../../runtime/index.js';
import { collect } from '../gleaner-command.js';
import type { CertificateFiles } from '../nats-config/certificate.js';
import { LISTEN, STORE, writeNatsConfig } from '../nats-config/index.js';
import { addOutputOption, type OutputOptions, print } from './common.js';

interface NatsConfigOptions extends OutputOptions {
  readonly folder: string;
  readonly listen?: string;
  readonly host?: readonly string[];
  readonly store?: string;
  readonly hook?: readonly string[];
  readonly agents?: readonly string[];
  readonly rotate?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
}

function certificatesOf({ tlsCert, tlsKey, tlsCa }: NatsConfigOptions): CertificateFiles | null {
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined || tlsCa === undefined)
    throw new UsageError('--tls-cert, --tls-key and --tls-ca must be used together', {
      hint: 'give all three, or none to create them',
    });
  return { certificate: resolve(tlsCert), key: resolve(tlsKey), ca: resolve(tlsCa) };
}

export function addCommands(program: Command): void {
  const command = program
    .command('nats-config')
    .description(
      'write a nats-server configuration with TLS, NKeys and least permissions; what an earlier ' +
        'run has made stays',
    )
    .option('--folder <path>', 'folder of the files', '/etc/gleaner/nats')
    .option(
      '--listen <address:port>',
      `address of the server (default: as an earlier run has it, otherwise ${LISTEN})`,
    )
    .option(
      '--host <name>',
      'name or address of the server for clients, repeatable (default: those of the certificate ' +
        'that an earlier run has made, otherwise of this machine)',
      collect,
    )
    .option(
      '--store <path>',
      `JetStream's folder (default: as an earlier run has it, otherwise ${STORE})`,
    )
    .option('--hook <host>', 'an invoker host with its own key, repeatable', collect)
    .option('--agents <host>', 'an agent host with its own key, repeatable', collect)
    .option('--rotate <name>', 'make a new seed for this identity, repeatable', collect)
    .option('--tls-cert <file>', 'existing certificate of the server')
    .option('--tls-key <file>', 'key of that certificate')
    .option('--tls-ca <file>', 'authority that clients trust');
  addOutputOption(command).action((options: NatsConfigOptions) => {
    const written = writeNatsConfig({
      folder: resolve(options.folder),
      listen: options.listen ?? null,
      hosts: options.host ?? null,
      storeFolder: options.store === undefined ? null : resolve(options.store),
      hooks: options.hook ?? [],
      agents: options.agents ?? [],
      rotate: options.rotate ?? [],
      certificates: certificatesOf(options),
    });
    print(options.output, written, () => {
      const files = table(written.identities, [
        left('identity', (row) => row.name),
        left('seed (secret)', (row) => row.seed),
        left('configuration', (row) => row.config),
      ]);
      return `${files}\nnats-server -c ${written.server}\n`;
    });
  });
}
