import { z } from 'zod';
import { key, optionalText, positive, section } from '../keys.js';

export const openwhiskSchema = section(
  "OpenWhisk's REST API, for `gleaner actions`: reads actions and writes their limits (docs/openwhisk-api.md).",
  {
    apiHost: key(
      z
        .string()
        .regex(
          /^https?:\/\/[^/@\s]+\/?$/,
          'must be a URL like https://openwhisk.example, without user or path',
        )
        .nullable(),
      null,
      'Where the API is; null: none, and no action is ever changed.',
    ),
    keysFile: key(
      optionalText(),
      null,
      'File with one key (`uuid:key`) per namespace and line, readable by its owner only.',
      { path: 'file' },
    ),
    caFile: key(
      optionalText(),
      null,
      "CA certificate to check the API against; null: the system's.",
      { path: 'file' },
    ),
    changesPerMinute: key(
      positive(600),
      6,
      'Most changes a minute: each makes a new version, and so cold starts.',
    ),
    holdS: key(
      z.number().min(0).max(86_400),
      600,
      'An action is not made smaller so soon after our last change of it; larger at any time.',
      { unit: 's' },
    ),
    rightSizing: section(
      '`gleaner actions follow`: which sizes are written, how many at once, and what is waited for.',
      {
        everyS: key(
          z.number().min(1).max(86_400),
          60,
          'Time between two looks at what calls say.',
          { unit: 's' },
        ),
        leastCalls: key(
          z.int().min(1).max(1_000_000),
          200,
          'Calls that must have been seen of a function: of n calls the next needs more than all before with chance 1 / (n + 1).',
        ),
        leastHours: key(
          z.number().min(0).max(8760),
          24,
          'Time that must have been seen of it: what comes once a day is not in an hour.',
          { unit: 'h' },
        ),
        canaries: key(
          z.int().min(1).max(1000),
          3,
          'Actions that are changed and watched first; each that is found good lets one more be watched, an OOM kill begins anew.',
        ),
        watchS: key(
          z.number().min(0).max(86_400),
          1800,
          'A changed action is watched for at least so long ...',
          {
            unit: 's',
          },
        ),
        watchCalls: key(
          z.int().min(0).max(1_000_000),
          50,
          '... and over so many calls at its new size.',
        ),
        payBackHours: key(
          positive(8760).nullable(),
          24,
          'A size is written only where the cold starts it saves (an estimate) outnumber those it costs within this time; null: in any case.',
          { unit: 'h' },
        ),
      },
    ),
  },
);
