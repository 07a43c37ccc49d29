/**
 * A tap that may not signal its tcpdump, for tcpdump.real.test.ts: `node tap-without-cap-kill.js
 * INTERFACE PORT MILLIS`, started without CAP_KILL. Prints what its listener is told; ends by
 * itself with exit code 0.
 */
import { TcpdumpTap } from '../../../../openwhisk-plugin/host/tap/index.js';
import { Recorder } from './packets.js';

const [interfaceName = '', port = '', duration = ''] = process.argv.slice(2);
const recorder = new Recorder();
const tap = new TcpdumpTap({ port: Number(port) });
tap.start(recorder);
tap.watch([{ interfaceName, networkName: 'none', gateway: '127.0.0.1' }]);
setTimeout(() => {
  process.stdout.write(`${recorder.told.join('\n')}\n`);
  process.exit(0);
}, Number(duration));
