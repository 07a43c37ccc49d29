import { z } from 'zod';
import { key, listen, optionalFile, section } from '../keys.js';

export const dashboardSchema = section(
  'The dashboard (`gleaner up`, `gleaner dashboard`). Reading needs no login: keep it on loopback.',
  {
    listen: key(
      listen(),
      '127.0.0.1:9780',
      'Address and port; port 0: any free one; null: none. `gleaner up` uses a free port if this ' +
        'one is in use.',
    ),
    tokenFile: optionalFile(
      'File with a token (at least 16 characters) to pause, restore and change modes; readable ' +
        'by its owner only; null: the dashboard is read-only.',
    ),
    hosts: key(
      z.array(
        z
          .string()
          .regex(/^[A-Za-z0-9.-]+(:\d{1,5})?$/, 'must be a host name, with or without a port'),
      ),
      [],
      'Further host names of the dashboard, such as of a proxy; requests for others are refused.',
    ),
  },
);
