/**
 * `airsplice status`: the channels of a running server at a glance, live in a terminal, else once. Exit code 1 if the server cannot be
 * reached or is not ready; the live picture shows that and continues until a signal.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { printableJson } from '../base/printable.js';
import { messageOf } from '../net/outbound/message-of.js';
import { type CommandLine, numberOf, type RunCommand, UsageError } from './command.js';
import { serverUrl } from './server.js';
import { askStatus, type StatusReport } from './status-report.js';
import { statusLines } from './status-table.js';
import { isLive, type Paint, paintOf, Screen, type Size, sizeOf } from './terminal/terminal.js';

const EVERY_SECONDS = 2;

export const status: RunCommand = async (line, stop) => {
  const url = serverUrl(line);
  const everyMs = numberOf(line, 'every', EVERY_SECONDS, 0.5, 3600) * 1000;
  if (line.values['once'] && line.values['watch']) throw new UsageError('--once and --watch cannot be combined');
  if (!isWatching(line)) {
    const report = await askStatus(url, stop);
    process.stdout.write(line.values['json'] ? `${printableJson(report)}\n` : plain(report));
    return report.isReady ? 0 : 1;
  }
  const isPicture = isLive() && line.values['json'] !== true;
  const watching = isPicture ? watchLive(url, everyMs, stop) : watchLines(url, everyMs, line, stop);
  await watching.catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
  return 0;
};

function isWatching({ values }: CommandLine): boolean {
  if (values['once']) return false;
  return values['watch'] === true || (isLive() && values['json'] !== true);
}

/** Rejects when it is stopped. */
async function watchLive(url: string, everyMs: number, stop: AbortSignal): Promise<never> {
  const picture = new StatusPicture(url, paintOf());
  const screen = new Screen((size) => picture.lines(size));
  try {
    for (;;) {
      await askStatus(url, stop).then(
        (report) => picture.show(report),
        (error: unknown) => picture.fail(error),
      );
      stop.throwIfAborted();
      screen.draw();
      await wait(everyMs, undefined, { signal: stop });
    }
  } finally {
    screen.close();
  }
}

/** Rejects when it is stopped. */
async function watchLines(url: string, everyMs: number, { values }: CommandLine, stop: AbortSignal): Promise<never> {
  for (;;) {
    const report = await askStatus(url, stop);
    process.stdout.write(values['json'] ? `${printableJson(report)}\n` : `${plain(report)}\n`);
    await wait(everyMs, undefined, { signal: stop });
  }
}

/** Shows the last report, and the present error. */
class StatusPicture {
  readonly #url: string;
  readonly #paint: Paint;
  #report: StatusReport | null = null;
  #trouble: string | null = null;

  constructor(url: string, paint: Paint) {
    this.#url = url;
    this.#paint = paint;
  }

  show(report: StatusReport): void {
    this.#report = report;
    this.#trouble = null;
  }

  fail(error: unknown): void {
    this.#trouble = messageOf(error);
  }

  lines(size: Size): readonly string[] {
    const trouble = this.#trouble === null ? [] : [this.#paint(this.#trouble.slice(0, size.columns), 'red')];
    if (this.#report === null) return trouble.length > 0 ? trouble : [`asking ${this.#url} …`];
    const rows = size.rows - trouble.length;
    return [...trouble, ...statusLines(this.#report, { ...size, rows }, this.#paint)];
  }
}

function plain(report: StatusReport): string {
  return `${statusLines(report, { ...sizeOf(), rows: Number.POSITIVE_INFINITY }, paintOf()).join('\n')}\n`;
}
