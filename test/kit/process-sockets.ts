/**
 * Inspects connections from outside, by /proc (Linux): those of a process, what was read, and which of several processes on a shared port accepted
 * one.
 */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import { until } from './until.js';

const AT_ONCE = 8;
const MAX_ROUNDS = 50;

/** The children of a process. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

/** The children that listen on a TCP port. */
export function listeningChildrenOf(pid: number, port: number): number[] {
  const inode = inodeOf(port, (local, _remote, state) => local === port && state === '0A');
  return childrenOf(pid).filter((child) => inode !== null && socketsOf(child).has(inode));
}

/** Opens a connection that this process accepts. */
export async function connectTo(pid: number, port: number): Promise<Socket> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const sockets = Array.from({ length: AT_ONCE }, () => net.connect(port, '127.0.0.1').on('error', () => undefined));
    let found: Socket | undefined;
    for (const socket of sockets) {
      await until(() => socket.localPort !== undefined && !socket.connecting, 5000);
      const inode = inodeOf(port, (local, remote) => local === port && remote === socket.localPort);
      if (found === undefined && inode !== null && socketsOf(pid).has(inode)) found = socket;
      else socket.destroy();
    }
    if (found !== undefined) return found;
  }
  throw new Error(`process ${pid} accepts nothing`);
}

/** The connections of a process at a local port, by their remote ports. @param pid the process; absent: any */
export function heldAt(port: number, pid?: number): number[] {
  const inodes = pid === undefined ? undefined : socketsOf(pid);
  // A connection that is not accepted yet, or that only the kernel still has, has no inode.
  const held = tcpSockets(port).filter(
    ({ local, state, inode }) => local === port && state !== LISTENING && inode !== '0',
  );
  return held.filter(({ inode }) => inodes?.has(inode) ?? true).map(({ remote }) => remote);
}

/** Whether the other end, on this machine, has read everything written to this connection. */
export function isRead(socket: Socket): boolean {
  const { localPort, remotePort, writableLength } = socket;
  if (localPort === undefined || socket.connecting) return false;
  const sockets = tcpSockets(localPort);
  const own = sockets.find(({ local, remote }) => local === localPort && remote === remotePort);
  const peer = sockets.find(({ local, remote }) => local === remotePort && remote === localPort);
  return writableLength === 0 && own?.unsentBytes === 0 && peer?.unreadBytes === 0 && peer.inode !== '0';
}

/** Number of connections of this machine. Closed ones count for a minute (TIME_WAIT), and slow down reads of send queues. */
export function connectionsOfMachine(): number {
  return ['tcp', 'tcp6'].reduce(
    (sum, file) => sum + readFileSync(`/proc/net/${file}`, 'latin1').split('\n').length - 2,
    0,
  );
}

const LISTENING = '0A';

interface TcpSocket {
  readonly local: number;
  readonly remote: number;
  readonly state: string;
  /** Bytes that the other end has not acknowledged. */
  readonly unsentBytes: number;
  readonly unreadBytes: number;
  readonly inode: string;
}

/** @param port of one end, since the machine may have tens of thousands of sockets */
function tcpSockets(port: number): TcpSocket[] {
  const mark = `:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  const lines = ['tcp', 'tcp6'].flatMap((file) => readFileSync(`/proc/net/${file}`, 'utf8').split('\n'));
  const found = lines.filter((line) => line.includes(mark));
  return found.map((line) => {
    const [, local, remote, state, queues, , , , , inode] = line.trim().split(/\s+/) as string[];
    const [unsentBytes, unreadBytes] = queues!.split(':').map((bytes) => Number.parseInt(bytes, 16));
    return {
      local: portOf(local!),
      remote: portOf(remote!),
      state: state!,
      unsentBytes: unsentBytes!,
      unreadBytes: unreadBytes!,
      inode: inode!,
    };
  });
}

function inodeOf(port: number, isIt: (localPort: number, remotePort: number, state: string) => boolean): string | null {
  return tcpSockets(port).find(({ local, remote, state }) => isIt(local, remote, state))?.inode ?? null;
}

function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1]!, 16);
}

export function socketsOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`;
  const inodes = new Set<string>();
  for (const name of readdirSync(folder)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // It was closed meanwhile.
    }
  }
  return inodes;
}
