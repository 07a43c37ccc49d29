export { TcpdumpTap } from './tcpdump-tap.js';
