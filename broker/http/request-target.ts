/** A request's target. The path is compared as sent and never decoded. */
export interface RequestTarget {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Host and port of the absolute form; it replaces the Host header (RFC 9112 §3.2.2). */
  readonly authority: string | null;
}

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/is;

/** Null unless the target has the origin form (`/path?query`) or the absolute form. */
export function parseTarget(target: string): RequestTarget | null {
  const absolute = target.startsWith('/') ? null : ABSOLUTE.exec(target);
  if (absolute === null && !target.startsWith('/')) return null;
  const own = absolute === null ? target : absolute[2]!;
  const mark = own.indexOf('?');
  return {
    path: (mark < 0 ? own : own.slice(0, mark)) || '/',
    query: new URLSearchParams(mark < 0 ? '' : own.slice(mark + 1)),
    authority: absolute === null ? null : absolute[1]!,
  };
}
