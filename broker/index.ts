export * from './function-token.js';
export * from './messages/index.js';
export * from './subjects.js';
