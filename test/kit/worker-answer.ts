/** Asks one of several workers that share a port. Linux only. */

import { connectTo } from './process-sockets.js';

export interface WorkerAnswer {
  readonly status: number;
  readonly body: string;
}

/** @param pid of the worker */
export async function askWorker(pid: number, port: number, path: string): Promise<WorkerAnswer> {
  const socket = await connectTo(pid, port);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  const [head, ...body] = text.split('\r\n\r\n');
  return { status: Number(head!.split(' ')[1]), body: body.join('\r\n\r\n') };
}
