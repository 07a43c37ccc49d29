import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

const CA_DAYS = '3650';
const SERVER_DAYS = '825';
/** `{ days: '10' }` → `-days 10`. */
const flags = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => [`-${name}`, value]);
const NEW_KEY = ['-nodes', ...flags({ newkey: 'ec', pkeyopt: 'ec_paramgen_curve:P-256' })];

/**
 * Makes a certificate authority and a server certificate for `hosts` with openssl, unless they
 * exist; keys have mode 0600. Delete `server.pem` to renew the certificate.
 */
export function makeCertificates(folder: string, hosts: readonly string[]): CertificateFiles {
  const at = (name: string): string => join(folder, name);
  const files = { ca: at('ca.pem'), certificate: at('server.pem'), key: at('server-key.pem') };
  if (!existsSync(files.ca)) {
    const made = { keyout: at('ca-key.pem'), out: files.ca, days: CA_DAYS };
    const named = { subj: '/CN=Gleaner NATS CA', addext: 'keyUsage=critical,keyCertSign,cRLSign' };
    openssl(['req', '-x509', ...NEW_KEY, ...flags({ ...made, ...named })]);
    chmodSync(files.ca, 0o644);
  }
  if (existsSync(files.certificate) && existsSync(files.key)) return files;
  const scratch = mkdtempSync(at('.making-'));
  try {
    const request = join(scratch, 'server.csr');
    const extensions = join(scratch, 'extensions');
    // The client checks a server given by its address against the name `localhost`.
    const names = [...new Set([...hosts, 'localhost'])]
      .map((host) => `${isIP(host) ? 'IP' : 'DNS'}:${host}`)
      .join(',');
    writeFileSync(
      extensions,
      `subjectAltName=${names}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n`,
    );
    const subject = { keyout: files.key, out: request, subj: `/CN=${hosts[0]}` };
    openssl(['req', ...NEW_KEY, ...flags(subject)]);
    const authority = { CA: files.ca, CAkey: at('ca-key.pem'), CAserial: join(scratch, 'serial') };
    const signed = { in: request, out: files.certificate, days: SERVER_DAYS, extfile: extensions };
    openssl(['x509', '-req', '-CAcreateserial', ...flags({ ...authority, ...signed })]);
    chmodSync(files.certificate, 0o644);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return files;
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
