/** Answers to an encoder's own titles (title-updates.ts), and what is said of them in the log and in the audit. */

import type { ServerResponse } from 'node:http';

/** As in the answer to a push (http/push-routes.ts). */
const IGNORED = 'Airsplice-Ignored';

/** A user of the admin interface; `refusal`: why it may not send titles, or null. */
export interface TitleSender {
  readonly name: string;
  readonly refusal: string | null;
}

/** What such a user has sent, for the audit. */
export interface TitleAct {
  readonly user: string;
  /** As it was asked for; "": none was named. */
  readonly mount: string;
  readonly artist: string;
  readonly title: string;
  readonly song: string;
}

export interface TitleUpdateVerdict {
  readonly status: number;
  /** Of the client. */
  readonly address: string;
  /** `""` where it was not found out. */
  readonly channel: string;
  readonly why: string;
  /** The id of its connection. */
  readonly connection: string | undefined;
  /** Null: an encoder's title, or a stranger's. */
  readonly act: TitleAct | null;
  /** Names of fields that were not taken (title-fields.ts). */
  readonly ignored: readonly string[];
}

/** The answer to what was taken, or a refusal, which is thrown. No Error: a stack costs more than all the rest of a refusal. */
export class TitleUpdateAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the log. */
  readonly why: string;
  /** For the log, too; "": not found out. */
  channel = '';
  act: TitleAct | null = null;
  ignored: readonly string[] = [];

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}, why = text) {
    this.status = status;
    this.text = text;
    this.headers = headers;
    this.why = why;
  }

  writeTo(response: ServerResponse): void {
    const { status, text, headers } = this;
    const body =
      status === 200
        ? `<?xml version="1.0"?>\n<iceresponse><message>${text}</message><return>1</return></iceresponse>\n`
        : `${text}\n`;
    response.writeHead(status, {
      'Content-Type': status === 200 ? 'text/xml; charset=utf-8' : 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...headers,
    });
    response.end(body);
  }
}

/** @param ignored names of fields that were not taken */
export function takenAnswer(text: string, ignored: readonly string[]): TitleUpdateAnswer {
  const answer = new TitleUpdateAnswer(200, text, ignored.length > 0 ? { [IGNORED]: ignored.join(', ') } : {});
  answer.ignored = ignored;
  return answer;
}
