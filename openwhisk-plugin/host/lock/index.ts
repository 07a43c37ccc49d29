export { engineLockPath, HookLock, HookLockedError } from './lock.js';
