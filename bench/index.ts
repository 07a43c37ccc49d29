export { benchTrace } from './worth/trace.js';
