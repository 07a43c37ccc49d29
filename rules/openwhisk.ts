import { mebibytes } from '../config/index.js';

/**
 * Memory that an action may have unless its operator changes it: `whisk.memory` of
 * common/scala/src/main/resources/application.conf [OpenWhisk].
 */
export const OPENWHISK_MEMORY = { least: mebibytes(128), most: mebibytes(512) } as const;
