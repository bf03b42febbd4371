/** Answers to an encoder's own titles (title-updates.ts), and their data for the log and the audit. */

import type { ServerResponse } from 'node:http';

/** The same header as in the answer to a push (http/push-routes.ts). */
const IGNORED = 'Airsplice-Ignored';

/** A user of the admin interface, and why that user may not send titles; null: it may. */
export interface TitleSender {
  readonly name: string;
  readonly refusal: string | null;
}

/** A title that such a user has sent, for the audit. */
export interface TitleAct {
  readonly user: string;
  /** The mount as requested; "": none. */
  readonly mount: string;
  readonly artist: string;
  readonly title: string;
  readonly song: string;
}

export interface TitleUpdateVerdict {
  readonly status: number;
  /** The client's. */
  readonly address: string;
  /** The channel key; `""`: unknown. */
  readonly channel: string;
  readonly why: string;
  /** Its id. */
  readonly connection: string | undefined;
  /** Null: not by a user of the admin interface. */
  readonly act: TitleAct | null;
  /** Names of ignored fields (title-fields.ts). */
  readonly ignored: readonly string[];
}

/** The answer to an accepted title, or a refusal, which is thrown. Not an Error: a stack trace costs more than the rest of a refusal. */
export class TitleUpdateAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The reason for the log. */
  readonly why: string;
  /** The channel key for the log; "": unknown. */
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

/** @param ignored names of ignored fields */
export function takenAnswer(text: string, ignored: readonly string[]): TitleUpdateAnswer {
  const answer = new TitleUpdateAnswer(200, text, ignored.length > 0 ? { [IGNORED]: ignored.join(', ') } : {});
  answer.ignored = ignored;
  return answer;
}
