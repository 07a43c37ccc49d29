/** Invoker hosts remembered of one function; the least recently seen is dropped. */
export const HOSTS_PER_FUNCTION_MAX = 64;
