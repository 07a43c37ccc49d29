import test from 'ava';
import { ErrorCode, NatsError } from 'nats';
import {
  connectError,
  isChanged,
  isMissingMessage,
  isMissingStore,
  storeError,
} from '../../broker/nats/nats-errors.js';

/**
 * As the client makes it of an answer of the JetStream API: its own code is the status, and 503
 * stands for several causes.
 */
function apiError(code: number, err_code: number, description: string): NatsError {
  const error =
    code === 503
      ? NatsError.errorForCode(ErrorCode.JetStreamNotEnabled, new Error(description))
      : new NatsError(description, String(code));
  return Object.assign(error, { api_error: { code, err_code, description } });
}

/**
 * Status, error code and description as nats-server's server/errors.json has them, and the class of
 * error that they are here.
 */
const KNOWN: readonly (readonly [number, number, string, string])[] = [
  [503, 10076, 'JetStream not enabled', 'NO_JETSTREAM'],
  [503, 10039, 'JetStream not enabled for account', 'NO_JETSTREAM'],
  [503, 10035, 'account not found', 'NO_JETSTREAM'],
  [503, 10023, 'insufficient resources', 'STORE_FULL'],
  [503, 10077, 'maximum messages per subject exceeded', 'STORE_FULL'],
  [503, 10077, 'maximum bytes exceeded', 'STORE_FULL'],
  [500, 10047, 'insufficient storage resources available', 'STORE_FULL'],
  [500, 10028, 'insufficient memory resources available', 'STORE_FULL'],
  [400, 10002, 'resource limits exceeded for account', 'STORE_FULL'],
  [400, 10122, 'stream max bytes exceeds account limit max stream bytes', 'STORE_FULL'],
  [503, 10008, 'JetStream system temporarily unavailable', 'STORE_UNAVAILABLE'],
  [500, 10009, 'JetStream cluster can not handle request', 'STORE_UNAVAILABLE'],
  [500, 10118, 'stream is offline', 'STORE_UNAVAILABLE'],
  [429, 10167, 'too many requests', 'STORE_UNAVAILABLE'],
  [400, 10058, 'stream name already in use with a different configuration', 'STORE_CONFLICT'],
  [400, 10065, 'subjects overlap with an existing stream', 'STORE_CONFLICT'],
  [400, 10054, 'message size exceeds maximum allowed', 'PAYLOAD_LIMIT'],
  [404, 10014, 'consumer not found', 'STORE'],
  [503, 10075, 'peer remap failed', 'STORE'],
  [500, 19_999, 'an error of a newer server', 'STORE'],
];

test('a JetStream error is classified by its error code, not by its status', (t) => {
  for (const [status, code, description, kind] of KNOWN) {
    const error = storeError('put in bucket b', apiError(status, code, description), 5000);
    t.is(error.code as string, `GLN_BROKER_${kind}`, `${code} ${description}`);
    t.true(
      error.message.includes('put in bucket b') && error.message.includes(description),
      error.message,
    );
    t.true(error.message.includes(String(code)), error.message);
  }
});

test('only a missing stream is created again; only another writer is a conflict', (t) => {
  t.true(isMissingStore(apiError(404, 10059, 'stream not found')));
  t.true(
    isMissingStore(NatsError.errorForCode(ErrorCode.NoResponders)),
    'a message to a stream that is gone',
  );
  t.true(isMissingStore(new Error('no stream matches subject')));
  for (const [status, code, description] of KNOWN)
    t.false(isMissingStore(apiError(status, code, description)), description);
  t.true(isChanged(apiError(400, 10071, 'wrong last sequence: 5')));
  t.true(isChanged(apiError(400, 10164, 'wrong last sequence')));
  t.false(isChanged(apiError(503, 10077, 'maximum messages per subject exceeded')));
  for (const code of [10037, 10043, 10057])
    t.true(isMissingMessage(apiError(404, code, 'no message found')));
  t.true(isMissingMessage(new NatsError('message not found', ErrorCode.JetStream404NoMessages)));
  t.false(isMissingMessage(apiError(404, 10059, 'stream not found')));
});

test('without an answer the cause is the connection, or missing JetStream', (t) => {
  const code = (name: ErrorCode) => storeError('x', NatsError.errorForCode(name), 100).code;
  t.is(code(ErrorCode.NoResponders), 'GLN_BROKER_NO_JETSTREAM');
  t.is(code(ErrorCode.Timeout), 'GLN_BROKER_STORE_TIMEOUT');
  t.is(code(ErrorCode.ConnectionClosed), 'GLN_BROKER_DISCONNECTED');
  t.is(code(ErrorCode.MaxPayloadExceeded), 'GLN_BROKER_PAYLOAD_LIMIT');
  t.is(code(ErrorCode.PermissionsViolation), 'GLN_BROKER_AUTH');
});

test('a server that cannot be reached is named with the cause, and without its password', (t) => {
  const node = (code: string) => Object.assign(new Error(`connect ${code}`), { code });
  const wrapped = (code: ErrorCode, chained?: Error) => NatsError.errorForCode(code, chained);
  const causes: readonly (readonly [unknown, string])[] = [
    [wrapped(ErrorCode.ConnectionRefused, node('ECONNREFUSED')), 'connection refused'],
    [wrapped(ErrorCode.ConnectionRefused), 'connection refused'],
    [node('ENOTFOUND'), 'no such host name'],
    [wrapped(ErrorCode.ConnectionTimeout), 'no answer in time'],
    [node('EHOSTUNREACH'), 'no route to this host'],
    [new Error('odd'), 'odd'],
  ];
  for (const [cause, reason] of causes) {
    const error = connectError(['nats://me:secret@one:4222', 'nats://two:4222'], cause);
    t.is(error.code, 'GLN_BROKER_UNREACHABLE');
    t.is(error.message, `cannot reach nats://***@one:4222, nats://two:4222: ${reason}`);
  }
  t.is(
    connectError(['nats://one'], wrapped(ErrorCode.AuthorizationViolation)).code,
    'GLN_BROKER_AUTH',
  );
});
