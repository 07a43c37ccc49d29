export * from './activation-policy.js';
