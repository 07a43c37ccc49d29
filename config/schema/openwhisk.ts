import { z } from 'zod';
import { key, optionalText, positive, section } from '../keys.js';

export const openwhiskSchema = section(
  "OpenWhisk's REST API, for `gleaner actions`: reads actions and writes their limits (docs/openwhisk-api.md).",
  {
    apiHost: key(
      z
        .string()
        .regex(/^https?:\/\/[^/@\s]+\/?$/, 'must be a URL like https://openwhisk.example, without user or path')
        .nullable(),
      null,
      'Where the API is; null: none, and no action is ever changed.',
    ),
    keysFile: key(
      optionalText(),
      null,
      'File with one key (`uuid:key`) per namespace and line, readable by its owner only.',
    ),
    caFile: key(optionalText(), null, "CA certificate to check the API against; null: the system's."),
    timeoutMs: key(z.int().min(100).max(600_000), 10_000, 'How long one answer may take.', { unit: 'ms' }),
    changesPerMinute: key(positive(600), 6, 'Most changes a minute: each makes a new version, and so cold starts.'),
    holdS: key(
      z.number().min(0).max(86_400),
      600,
      'An action is not made smaller so soon after our last change of it; larger at any time.',
      { unit: 's' },
    ),
  },
);
