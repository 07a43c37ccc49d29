export { EngineLock, HookLock, HookLockedError } from './lock.js';
