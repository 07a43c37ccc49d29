export { ENGINE_LOCKS, engineLockPath, HookLock, HookLockedError } from './lock.js';
