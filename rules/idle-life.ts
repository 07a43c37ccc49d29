import { type Millis, millis } from '../config/index.js';

/**
 * OpenWhisk removes a paused container after this time without an activation [OpenWhisk
 * application.conf, `idle-container`].
 */
export const IDLE_LIFE: Millis = millis(600_000);
