import { z } from 'zod';
import { key, optionalFile, positive, section } from '../keys.js';

export const openwhiskSchema = section(
  "OpenWhisk's REST API, with which `gleaner actions` reads and writes limits of actions.",
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
      'URL of the API; null: none, and no action is changed.',
    ),
    keysFile: optionalFile(
      'File with one key (`uuid:key`) per line and namespace, readable by its owner only.',
    ),
    caFile: optionalFile("CA certificate to check the API against; null: the system's."),
    changesPerMinute: key(
      positive(600),
      6,
      'Largest number of changes per minute: each creates a version, and so cold starts.',
    ),
    holdS: key(
      z.number().min(0).max(86_400),
      600,
      'An action is not made smaller within this time after its last change by Gleaner.',
    ),
    rightSizing: section(
      '`gleaner actions follow`: which memory sizes are written, and how many at once.',
      {
        everyS: key(z.number().min(1).max(86_400), 60, 'Interval between two evaluations.'),
        rule: key(
          z.enum(['margin', 'price']),
          'margin',
          '`margin`: the recent peak and a quarter more; `price`: the size with the least cost, ' +
            'of evictions, peaks above the size and cold starts of the new revision.',
        ),
        leastActivations: key(
          z.int().min(1).max(1_000_000),
          200,
          'Activations needed: after n of them the next needs more memory than all before with ' +
            'probability 1 / (n + 1).',
        ),
        leastHours: key(
          z.number().min(0).max(8760),
          24,
          'Time that the activations must span, so that daily peaks are in it.',
        ),
        canaries: key(
          z.int().min(1).max(1000),
          3,
          'Actions that are changed and watched first; each success allows one more, an OOM kill ' +
            'resets the number.',
        ),
        watchS: key(
          z.number().min(0).max(86_400),
          1800,
          'A changed action is watched for at least this long ...',
        ),
        watchActivations: key(
          z.int().min(0).max(1_000_000),
          50,
          '... and over this many activations with its new size.',
        ),
        payBackHours: key(
          positive(8760).nullable(),
          24,
          'A size is written only if it is estimated to save more cold starts within this time ' +
            'than it causes; null: always.',
        ),
      },
    ),
  },
);
