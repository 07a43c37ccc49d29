export { ENGINE_LOCKS, engineLockPath, HookLock, HookLockedError, nameProcess } from './lock.js';
