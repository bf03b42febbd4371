/**
 * A crowd of HLS players: each requests the playlist every target duration, at its own moments, and then the segments that it lacks. All answers of
 * one name must have the same bytes, and no player's playlist may go back. Owned by the scenario, which closes it.
 */

import type { HlsOrigin } from './hls-servers.js';
import { pace } from './pace.js';
import { type Answer, Requests } from './requests.js';

const CONNECTIONS = 64;
const ANSWER_SECONDS = 20;
/** A player begins this number of segments before the end of its playlist. */
const BEGINS_BEHIND = 3;

export class HlsPlayers {
  readonly requests: Requests;
  /** Number of loaded playlists. */
  lists = 0;
  segments = 0;
  faults: string[] = [];
  readonly #origin: HlsOrigin;
  readonly #folder: string;
  readonly #bodies = new Map<string, string>();
  /** Player → number of the next segment to request. */
  readonly #next: number[];

  constructor(origin: HlsOrigin, players: number) {
    this.#origin = origin;
    this.#folder = origin.listPath.slice(0, origin.listPath.lastIndexOf('/') + 1);
    this.#next = Array.from({ length: players }, () => 0);
    this.requests = new Requests(origin.port, CONNECTIONS);
  }

  /** @param targetSeconds interval of a player's requests for the playlist */
  async play(seconds: number, targetSeconds: number): Promise<void> {
    const perSecond = this.#next.length / targetSeconds;
    await pace(perSecond, Math.round(perSecond * seconds), (index, dueAt) =>
      this.#ask(index % this.#next.length, dueAt),
    );
    await this.requests.idle(ANSWER_SECONDS);
    if (this.requests.wrong > 0) this.faults.push(`${this.requests.wrong} wrong: ${this.requests.firstFault}`);
  }

  close(): void {
    this.requests.close();
  }

  #ask(player: number, dueAt: number): void {
    this.lists++;
    this.requests.send(
      `GET ${this.#origin.listPath}`,
      dueAt,
      (answer) => answer.status === 200 && this.#take(player, answer),
    );
  }

  #take(player: number, { body }: Answer): boolean {
    const first = Number(/#EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(body)?.[1]);
    const names = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const behind = first + Math.max(0, names.length - BEGINS_BEHIND);
    const from = Math.max(behind, this.#next[player]!);
    this.#next[player] = Math.max(from, first + names.length);
    for (const name of names.slice(from - first)) {
      this.segments++;
      this.requests.send(`GET ${this.#folder}${name.trim()}`, performance.now(), (answer) =>
        this.#isSame(name, answer),
      );
    }
    return Number.isInteger(first) && names.length > 0;
  }

  #isSame(name: string, { status, body }: Answer): boolean {
    const known = this.#bodies.get(name);
    if (known === undefined) this.#bodies.set(name, body);
    return status === 200 && body.length > 1000 && (known ?? body) === body;
  }
}
