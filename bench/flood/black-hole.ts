import { type AddressInfo, createServer } from 'node:net';

// Accepts connections and data, and never responds.
const server = createServer((socket) => {
  socket.on('error', () => socket.destroy()).resume();
}).listen(0, '127.0.0.1', () => process.send?.([(server.address() as AddressInfo).port]));
process.on('disconnect', () => process.exit(0));
