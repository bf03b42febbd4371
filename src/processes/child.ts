/**
 * A child process: reports that it runs, receives what it needs to start its work, and sends a sign of life every second. It ends when it is asked
 * to, or when its supervisor is gone.
 */

import type { Socket } from 'node:net';
import { type OpenLog, openLog } from '../base/log.js';
import { msUntil, nextWhole } from '../base/whole-time.js';
import type { ChildParts, ChildWork } from './child-work.js';
import { ALIVE_MS, type Boot, type FromChild, MESSAGES_VERSION, type ProcessRole, type ToChild } from './messages.js';
import { configOf } from './reload/configuration.js';
import { leave, stopWhenBroken } from './restart/leaving.js';

/** Runs the work of this process. Resolves when its program is loaded; ends the process when the work has ended. */
export async function runChild(): Promise<void> {
  const role = process.env['AIRSPLICE_PROCESS'] as ProcessRole;
  process.title = `airsplice ${role}`;
  // Loaded before this process reports that it waits, since from then on each moment counts; each role loads only what it needs.
  const start =
    role === 'hub' ? (await import('./hub-process.js')).startHub : (await import('./worker-process.js')).startWorker;
  // A terminal signals all processes at once; the supervisor passes signals on in the right order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  let work: ChildWork | null = null;
  let receiver: ChildWork['onMessage'] = (_message, socket) => socket?.destroy();
  const receive: ChildParts['receive'] = (onMessage) => {
    receiver = onMessage;
  };
  const end = async (close: () => Promise<void>, graceMs?: number): Promise<void> => {
    if (graceMs !== undefined) setTimeout(leave, graceMs, 0, 'SIGKILL');
    const errors = (await work?.stop(graceMs).catch((error: unknown) => [error])) ?? [];
    await close();
    leave(errors.length > 0 ? 1 : 0, 'SIGKILL');
  };
  process.on('message', (message: ToChild, socket?: Socket) => {
    if (message.type === 'boot') {
      void begin(start, message.boot, receive, (graceMs) => void end(close, graceMs)).then((begun) => {
        work = begun.work;
        close = begun.close;
      });
    } else if (message.type === 'stop') void end(close, message.graceMs);
    else if (work === null) receiver(message, socket);
    else work.onMessage(message, socket);
  });
  let close = async (): Promise<void> => undefined;
  process.once('disconnect', () => void end(close));
  // The supervisor may have gone while this program was being loaded.
  if (!process.connected) void end(close);
  send({ type: 'waiting', version: MESSAGES_VERSION });
  sayAlive();
}

/** Sends a sign of life at each whole second, together with everything else that is done once a second. */
function sayAlive(): void {
  const say = () => {
    if (process.connected) send({ type: 'alive' });
    // Node emits nothing by itself while a socket is on its way to a supervisor that has gone. Once it has, the listener is removed.
    else process.emit('disconnect');
    sayAlive();
  };
  setTimeout(say, msUntil(nextWhole(ALIVE_MS, performance.now())));
}

async function begin(
  start: (parts: ChildParts) => Promise<ChildWork>,
  boot: Boot,
  receive: ChildParts['receive'],
  end: (graceMs: number) => void,
): Promise<{ work: ChildWork | null; close(): Promise<void> }> {
  let opened: OpenLog | null = null;
  try {
    const config = configOf(boot.source);
    opened = openLog(config.log.level, config.log.bufferBytes, config.log.format);
    let work: ChildWork | null = null;
    const graceMs = config.shutdown.graceSeconds * 1000;
    stopWhenBroken(opened, graceMs, () => work);
    const parts = { boot, config, opened, receive, send, end: () => end(graceMs) };
    work = await start(parts);
    return { work, close: opened.close };
  } catch (error) {
    send({ type: 'failed', reason: error instanceof Error ? error.message : String(error) }, undefined, () =>
      leave(1, 'SIGKILL'),
    );
    return { work: null, close: async () => opened?.close() };
  }
}

function send(message: FromChild, socket?: Socket, onSent: () => void = () => undefined): void {
  if (process.connected) process.send!(message, socket, {}, () => onSent());
  else onSent();
}
