/** Compares a replica with its tape: every rendering of every segment, and every place where a listener may begin or end. */

import { OggSegment } from '../../src/audio/ogg/ogg-segment.js';
import type { AudioTape } from '../../src/audio/tape/audio-tape.js';
import type { Mark } from '../../src/audio/tape/mark.js';
import { type AudioSegment, inForceAt, Segment } from '../../src/audio/tape/segment.js';
import type { ReplicaTape } from '../../src/link/tapes/replica-tape.js';
import type { Random } from './random.js';

/** Mark of the tape → mark of the replica, for those that both have now. */
type Known = Map<Mark, Mark>;

export class TapePair {
  readonly #random: Random;
  #known: Known = new Map();
  /** The last compared replica. */
  #replica: ReplicaTape | null = null;
  /** Number of compared segments. */
  segments = 0;
  marks = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Throws an Error with the difference. */
  compare(tape: AudioTape, replica: ReplicaTape): void {
    for (const fact of [
      'metaint',
      'segmentBytes',
      'lagMs',
      'tail',
      'head',
      'isOver',
      'edgeMs',
      'endMs',
      'joinFrom',
      'openRestBytes',
    ] as const)
      same(fact, tape[fact], replica[fact]);
    for (let i = 0; i < 5; i++) {
      const burstMs = this.#random.int(0, 1.2 * tape.lagMs);
      same(`joinAt(${burstMs})`, tape.joinAt(burstMs), replica.joinAt(burstMs));
    }
    // Another replica may have other marks.
    const before: Known = replica === this.#replica ? this.#known : new Map();
    this.#replica = replica;
    this.#known = new Map();
    for (let seq = tape.tail; seq < tape.head; seq++) {
      this.segments++;
      same(`lastEntry of ${seq}`, tape.lastEntry(seq), replica.lastEntry(seq));
      this.#compareSegment(`segment ${seq}`, tape.at(seq)!, replica.at(seq)!);
    }
    for (let seq = tape.tail - 1; seq <= tape.head + 1; seq++) {
      for (const icy of [true, false]) sameBytes(`rest(${seq}, ${icy})`, tape.rest(seq, icy), replica.rest(seq, icy));
    }
    same('at(head)', replica.at(tape.head), undefined);
    for (const [mark, theirs] of this.#known) {
      if ((before.get(mark) ?? theirs) !== theirs) throw new Error(`"${mark.view.title}" has become another mark`);
    }
    this.#compareOrder();
    this.#compareRenderings(tape, replica);
  }

  #compareSegment(name: string, one: AudioSegment, other: AudioSegment): void {
    for (const fact of ['startMs', 'endMs', 'entry', 'entryMs', 'linkBytes'] as const)
      same(`${fact} of ${name}`, one[fact], other[fact]);
    sameBytes(`bytes of ${name}`, one.bytes, other.bytes);
    sameBytes(`plain of ${name}`, one.plain, other.plain);
    sameBytes(`titled of ${name}`, one.titled, other.titled);
    this.#sameMark(`before ${name}`, one.before, other.before);
    this.#sameMark(`mark of ${name}`, one.mark, other.mark);
    this.#sameMark(`late of ${name}`, one.late, other.late);
    same(`marks of ${name}`, one.marks.length, other.marks.length);
    for (const [i, { mark, atMs, atByte, blockByte }] of one.marks.entries()) {
      this.marks++;
      const theirs = other.marks[i]!;
      this.#sameMark(`mark ${i} of ${name}`, mark, theirs.mark);
      same(
        `place of mark ${i} of ${name}`,
        `${atMs} ${atByte} ${blockByte}`,
        `${theirs.atMs} ${theirs.atByte} ${theirs.blockByte}`,
      );
    }
    if (one instanceof Segment) {
      const theirs = other as Segment;
      this.#sameMark(`following ${name}`, one.following, theirs.following);
      this.#sameMark(`repeats of ${name}`, one.repeats, theirs.repeats);
      for (const had of [null, one.repeats, one.before, one.mark]) {
        const theirHad = had === null ? null : this.#known.get(had)!;
        sameBytes(`titledFor of ${name}`, one.titledFor(had), theirs.titledFor(theirHad));
      }
    }
    const ms = one.startMs + (one.endMs - one.startMs) * this.#random.next();
    this.#sameMark(`in force at ${ms} in ${name}`, inForceAt(one, ms), inForceAt(other, ms));
    for (const icy of one.entry < 0 ? [] : [true, false])
      sameBytes(`entered(${icy}) of ${name}`, one.entered(icy), other.entered(icy));
  }

  /** Compares two marks: the same title, and always the same pair of objects. */
  #sameMark(name: string, one: Mark | null, other: Mark | null): void {
    if (one === null || other === null) {
      same(name, one?.view.title ?? null, other?.view.title ?? null);
      return;
    }
    const known = this.#known.get(one);
    if (known !== undefined && known !== other) throw new Error(`${name}: "${one.view.title}" is two marks`);
    this.#known.set(one, other);
    same(name, one.view.json, other.view.json);
    same(`tags: ${name}`, JSON.stringify(one.tags), JSON.stringify(other.tags));
    sameBytes(`block: ${name}`, one.block, other.block);
  }

  /** Compares the order of marks; marks that share a block in one must share one in the other. */
  #compareOrder(): void {
    const all = [...this.#known].sort(([a], [b]) => a.order - b.order);
    for (let i = 1; i < all.length; i++) {
      const [[mark, theirs], [next, theirNext]] = [all[i - 1]!, all[i]!];
      if (theirs.order >= theirNext.order) throw new Error(`"${next.view.title}" was made too early`);
      same('blocks that are one', mark.block === next.block, theirs.block === theirNext.block);
    }
  }

  /** Compares Ogg renderings, which each listener has for itself. */
  #compareRenderings(tape: AudioTape, replica: ReplicaTape): void {
    if (!(tape.at(tape.tail) instanceof OggSegment)) return;
    for (const icy of [true, false]) {
      const [one, other] = [tape.rendering(icy)!, replica.rendering(icy)!];
      const from = this.#random.int(tape.tail, tape.head - 1);
      for (let seq = from; seq < tape.head; seq++) {
        const [segment, theirs] = [tape.at(seq)!, replica.at(seq)!];
        const shared = (each: AudioSegment) => (seq === from ? each.entered(icy) : each.plain);
        const own = one.next(shared(segment), segment as OggSegment);
        const theirOwn = other.next(shared(theirs), theirs as OggSegment);
        sameBytes(`rendering of ${seq}`, Buffer.concat(own), Buffer.concat(theirOwn));
      }
    }
  }
}

function same(name: string, one: unknown, other: unknown): void {
  if (!Object.is(one, other)) throw new Error(`${name}: ${one} on the tape, ${other} on the replica`);
}

function sameBytes(name: string, one: Buffer, other: Buffer): void {
  if (one.equals(other)) return;
  const at = one.findIndex((byte, i) => byte !== other[i]);
  throw new Error(
    `${name}: ${one.length} bytes on the tape, ${other.length} on the replica; first difference at ${at}`,
  );
}
