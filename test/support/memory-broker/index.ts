export { MemoryBus } from './memory-bus.js';
