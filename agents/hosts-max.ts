/** Invoker hosts remembered of one function; the least recently seen is dropped. */
export const HOSTS_MAX = 64;
