import { readFileSync } from 'node:fs';
import { isOpenToOthers } from '../broker/nats/index.js';
import { type ConfigProblem, messageOf, type NatsConfig } from '../config/index.js';

/** Base32 of a seed: `S`, its type, then the key and its checksum. */
const SEED = /S[UAONC][A-Z2-7]{56}/;

/** Checks the key files of NATS without a server: access and format. */
export function checkCredentials(nats: NatsConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const check = (
    key: keyof NatsConfig & string,
    secret: boolean,
    wrong: (text: string) => string | null,
  ): void => {
    const path = nats[key];
    if (typeof path !== 'string') return;
    const complain = (message: string): void => {
      problems.push({ path: `nats.${key}`, message, source: path });
    };
    try {
      const text = readFileSync(path, 'utf8');
      if (secret && isOpenToOthers(path)) complain('others may read it: chmod 600');
      const message = wrong(text);
      if (message) complain(message);
    } catch (error) {
      complain(`cannot be read: ${messageOf(error)}`);
    }
  };
  const seed = (text: string): string | null => (SEED.test(text) ? null : 'holds no NKey seed');
  const pem = (text: string): string | null =>
    text.includes('-----BEGIN ') ? null : 'is not a PEM file';
  check('credentialsFile', true, (text) =>
    text.includes('BEGIN NATS USER JWT') ? seed(text) : 'holds no user JWT',
  );
  check('nkeySeedFile', true, seed);
  check('caFile', false, pem);
  check('certFile', false, pem);
  check('keyFile', true, pem);
  return problems;
}
