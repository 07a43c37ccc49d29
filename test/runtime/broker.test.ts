import test from 'ava';
import { loadConfig } from '../../config/index.js';
import { connectPart } from '../../runtime/index.js';

test('a part that needs NATS does not try an empty address forever', async (t) => {
  const { config } = loadConfig({});
  await t.throwsAsync(() => connectPart(config.nats, 'agents', null), {
    code: 'GLN_NATS_NOT_CONFIGURED',
    message: /^agents cannot work without NATS/,
  });
});
