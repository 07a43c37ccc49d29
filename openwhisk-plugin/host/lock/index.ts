export {
  ENGINE_LOCKS,
  engineLockPath,
  HookLock,
  HookLockedError,
  namedProcess,
  nameProcess,
} from './lock.js';
