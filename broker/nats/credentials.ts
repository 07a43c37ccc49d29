import { readFileSync, statSync } from 'node:fs';
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, nkeys } from 'nats';
import { messageOf } from '../../config/index.js';
import { CredentialsError } from '../errors.js';

const encoder = new TextEncoder();

function checkSeed(path: string, seed: string): void {
  try {
    nkeys.fromSeed(encoder.encode(seed));
  } catch {
    throw new CredentialsError(path, 'the seed in it is not an nkey seed');
  }
}

/** In systemd's credentials folder the group's bits are an access list for the service's user. */
export function isOpenToOthers(path: string): boolean {
  const { CREDENTIALS_DIRECTORY: folder } = process.env;
  const bits = folder !== undefined && path.startsWith(`${folder}/`) ? 0o007 : 0o077;
  return (statSync(path).mode & bits) !== 0;
}

/** Throws `GLN_BROKER_CREDENTIALS` if {@link isOpenToOthers}. */
export function checkSecrecy(path: string): void {
  if (isOpenToOthers(path)) throw new CredentialsError(path, 'others may read it: chmod 600');
}

/**
 * The authenticator of a `.creds` file or an nkey seed file. The file is checked here, because the
 * client hides an authenticator's exception and only times out. Throws `GLN_BROKER_CREDENTIALS`.
 */
export function authenticatorFrom(path: string): Authenticator {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new CredentialsError(path, messageOf(error));
  }
  checkSecrecy(path);
  if (!content.includes('-----BEGIN')) {
    const seed = content.trim();
    checkSeed(path, seed);
    return nkeyAuthenticator(encoder.encode(seed));
  }
  const blocks = [...content.matchAll(/-{3,}BEGIN[^\n]*-{3,}\s+(\S+)\s+-{3,}\s*END/g)];
  const [jwt, seed] = [blocks[0]?.[1], blocks[1]?.[1]];
  if (jwt === undefined || seed === undefined)
    throw new CredentialsError(path, 'it lacks a JWT block or a seed block');
  checkSeed(path, seed);
  return credsAuthenticator(encoder.encode(content));
}
