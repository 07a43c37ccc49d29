/** Changes actions until it is killed: `changing-child <api> <journal> <MiB> <name>…`. */
import { type Millis, systemClock } from '../../../config/index.js';
import { ActionWriter, Journal } from '../../../openwhisk-plugin/openwhisk-api/index.js';
import { nothingHeld, request, restTo } from './rig.js';

const [api, path, mib, ...names] = process.argv.slice(2) as [string, string, string, ...string[]];
const writer = await ActionWriter.connect(
  [restTo(api, undefined, 30_000)],
  {
    changesPerMinute: 1e6,
    holdMs: 0,
    waitForHost: true,
    attempts: 3,
    backOff: 1 as Millis,
    allowanceOf: () => ({ mode: 'enforce' }),
  },
  systemClock,
  () => Promise.resolve(),
);
const journal = await Journal.open(path);
await writer.apply(
  names.map((name) => request(`/guest/${name}`, Number(mib))),
  journal.entries,
  journal,
  nothingHeld,
);
journal.close();
