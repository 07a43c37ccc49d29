import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { errorClass } from '../../config/index.js';

/** openssl did not make a certificate. */
class CertificateError extends errorClass('GLN_NATS_CERTIFICATE') {}

export interface CertificateFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** The client checks a server given by its address against this name. */
const LOCAL = 'localhost';
const CA_DAYS = '3650';
const SERVER_DAYS = '825';
/** `{ days: '10' }` → `-days 10`. */
const flags = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => [`-${name}`, value]);
const NEW_KEY = ['-nodes', ...flags({ newkey: 'ec', pkeyopt: 'ec_paramgen_curve:P-256' })];

/** `DNS:a.example, IP Address:10.0.0.1`, as {@link X509Certificate.subjectAltName} has it. */
const NAME = /(?:DNS|IP Address):([^,\s]+)/g;

const filesIn = (folder: string): CertificateFiles => ({
  ca: join(folder, 'ca.pem'),
  certificate: join(folder, 'server.pem'),
  key: join(folder, 'server-key.pem'),
});

/**
 * The hosts that a certificate of {@link makeCertificates} was made for, without `localhost`, which
 * each one has; empty: there is none.
 */
export function certifiedHosts(folder: string): string[] {
  const { certificate } = filesIn(folder);
  if (!existsSync(certificate)) return [];
  const { subjectAltName = '' } = new X509Certificate(readFileSync(certificate));
  return [...subjectAltName.matchAll(NAME)].map(([, name]) => name!).filter((n) => n !== LOCAL);
}

/**
 * Makes a certificate authority and a server certificate for `hosts` with openssl, unless they
 * exist; keys have mode 0600. A certificate that lacks one of the hosts is replaced by one that has
 * its names too. Delete `server.pem` to renew the certificate.
 */
export function makeCertificates(folder: string, hosts: readonly string[]): CertificateFiles {
  const at = (name: string): string => join(folder, name);
  const files = filesIn(folder);
  if (!existsSync(files.ca)) {
    const made = { keyout: at('ca-key.pem'), out: files.ca, days: CA_DAYS };
    const named = { subj: '/CN=Gleaner NATS CA', addext: 'keyUsage=critical,keyCertSign,cRLSign' };
    openssl(['req', '-x509', ...NEW_KEY, ...flags({ ...made, ...named })]);
    chmodSync(files.ca, 0o644);
  }
  const certified = certifiedHosts(folder);
  const isComplete = existsSync(files.certificate) && hosts.every(isNamedBy(files.certificate));
  if (isComplete && existsSync(files.key)) return files;
  const scratch = mkdtempSync(at('.making-'));
  try {
    const request = join(scratch, 'server.csr');
    const extensions = join(scratch, 'extensions');
    const names = [...new Set([...hosts, ...certified, LOCAL])]
      .map((host) => `${isIP(host) ? 'IP' : 'DNS'}:${host}`)
      .join(',');
    writeFileSync(
      extensions,
      `subjectAltName=${names}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n`,
    );
    const made = { key: join(scratch, 'key.pem'), certificate: join(scratch, 'server.pem') };
    const subject = { keyout: made.key, out: request, subj: `/CN=${hosts[0]}` };
    openssl(['req', ...NEW_KEY, ...flags(subject)]);
    const authority = { CA: files.ca, CAkey: at('ca-key.pem'), CAserial: join(scratch, 'serial') };
    const signed = { in: request, out: made.certificate, days: SERVER_DAYS, extfile: extensions };
    openssl(['x509', '-req', '-CAcreateserial', ...flags({ ...authority, ...signed })]);
    chmodSync(made.certificate, 0o644);
    // A server must not find a key that is not that of its certificate, if openssl fails.
    renameSync(made.key, files.key);
    renameSync(made.certificate, files.certificate);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return files;
}

function isNamedBy(file: string): (host: string) => boolean {
  const certificate = new X509Certificate(readFileSync(file));
  return (host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) != null;
}

function openssl(args: readonly string[]): void {
  const before = process.umask(0o077);
  try {
    const { status, stderr, error } = spawnSync('openssl', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (status === 0) return;
    const reason = error?.message ?? stderr.trim().split('\n').at(-1) ?? '';
    throw new CertificateError(args[0] ?? '', reason);
  } finally {
    process.umask(before);
  }
}
