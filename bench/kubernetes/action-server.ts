/**
 * Serves `/init` and `/run` as OpenWhisk's action images do, as text for `node -e`: computes for
 * `busy` ms, answers after `sleep` ms. As the first process of its pid namespace it must end itself
 * on SIGTERM.
 */
export const ACTION_SERVER = `
process.on('SIGTERM', () => process.exit(0));
require('http').createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    let value = {};
    try { value = JSON.parse(Buffer.concat(parts)).value ?? {}; } catch {}
    for (const end = Date.now() + (value.busy ?? 0); Date.now() < end; );
    const answer = () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"ok":true}');
    };
    value.sleep ? setTimeout(answer, value.sleep) : answer();
  });
}).listen(8080, '0.0.0.0');
`;
