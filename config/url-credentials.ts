/**
 * Text in which user and password of each address are `***`. To the last `@` before a blank or
 * quote: an `@` or `/` that is not escaped belongs to the password. Time is linear in the text.
 */
export const maskUrlCredentials = (text: string): string =>
  text.replace(/(?<!\w)(\w+:\/\/)([^\s"']*)/g, (_, scheme: string, rest: string) => {
    const end = rest.lastIndexOf('@');
    return end < 0 ? `${scheme}${rest}` : `${scheme}***${rest.slice(end)}`;
  });
