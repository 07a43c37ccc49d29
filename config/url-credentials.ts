/**
 * Text in which user and password of each address are `***`. To the last `@` before a blank or
 * quote: an `@` or `/` that is not escaped belongs to the password.
 */
export const maskUrlCredentials = (text: string): string =>
  text.replace(/(\w+:\/\/)[^\s"']*@/g, '$1***@');
