/** What long-running parts log through; pino's loggers fit. */
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

/** The first of failures that are alike is a warning; those after it are for whoever debugs. */
export function warnOnce(logger: Logger): (fields: object, message: string) => void {
  let hasWarned = false;
  return (fields, message) => {
    if (hasWarned) logger.debug(fields, message);
    else logger.warn(fields, message);
    hasWarned = true;
  };
}
