import { type AddressInfo, createServer } from 'node:net';

// Takes connections and whatever is sent, and never says a word.
const server = createServer((socket) => {
  socket.on('error', () => socket.destroy()).resume();
}).listen(0, '127.0.0.1', () => process.send?.([(server.address() as AddressInfo).port]));
process.on('disconnect', () => process.exit(0));
