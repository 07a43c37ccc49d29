export * from './errors.js';
export * from './function-token.js';
export * from './memory/index.js';
export * from './messages/index.js';
export * from './port.js';
export * from './services.js';
export * from './subject-rules.js';
export * from './subjects.js';
