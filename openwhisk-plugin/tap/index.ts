export { isInstalled } from './capture-command.js';
export { captureFilter } from './filter.js';
export { type TapOptions, TcpdumpTap } from './tcpdump-tap.js';
