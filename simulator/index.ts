export * from './docker-platform/index.js';
