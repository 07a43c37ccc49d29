import { createServer } from 'node:net';

/**
 * Runs in a farm's network namespace and is every container at once: answers a request after the
 * `"ms"` of its value. Ends with its standard input, so that nothing is left behind when the farm
 * is killed.
 */
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    const millis = /"ms":(\d+)/.exec(text)?.[1];
    if (millis === undefined) return;
    text = '';
    setTimeout(() => {
      if (socket.writable) socket.write(ANSWER);
    }, Number(millis));
  });
});
server.listen(8080, '0.0.0.0', 2048, () => process.stdout.write('ready\n'));
process.stdin.on('end', () => process.exit(0)).resume();
