/** The logger of long-running parts; pino's loggers implement it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const nothing = (): void => {};
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/** Logs the first failure of a kind as a warning, and later ones at level debug. */
export function warnOnce(logger: Logger): (fields: object, message: string) => void {
  let hasWarned = false;
  return (fields, message) => {
    if (hasWarned) logger.debug(fields, message);
    else logger.warn(fields, message);
    hasWarned = true;
  };
}
