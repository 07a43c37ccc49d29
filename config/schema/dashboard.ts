import { z } from 'zod';
import { key, listen, optionalText, section } from '../keys.js';

export const dashboardSchema = section(
  'The dashboard in the browser (`gleaner up`, `gleaner dashboard`). Looking asks nobody who they are: keep it on loopback.',
  {
    listen: key(
      listen(),
      '127.0.0.1:9780',
      'Address and port; port 0: any free one; null: none. `gleaner up` takes a free port where this one is taken.',
    ),
    tokenFile: key(
      optionalText(),
      null,
      'File with a token of at least 16 characters, readable by its owner only: whoever has it may pause, restore and change modes in the dashboard; null: read-only.',
      { path: 'file' },
    ),
    hosts: key(
      z.array(
        z
          .string()
          .regex(/^[A-Za-z0-9.-]+(:\d{1,5})?$/, 'must be a host name, with or without a port'),
      ),
      [],
      'Further names the dashboard is asked for by, of a proxy or a tunnel; any other is refused.',
    ),
  },
);
