/**
 * Calls to a directory of streams, and its answers, by Icecast's YP protocol. A call is a form by POST; the answer is in headers. Pure.
 *
 *   add     sn, genre, cpswd, desc, url, listenurl, type, stype, b, ice-…  ─► YPResponse: 1, SID, TouchFreq (seconds)
 *   touch   sid, st, listeners, max_listeners, stype                       ─► YPResponse: 1
 *   remove  sid                                                            ─► YPResponse: 1          else: YPMessage
 */

import type { SourceFacts } from '../source/source-facts-schema.js';

/** A channel as a directory lists it. */
export interface YpChannel
  extends Pick<SourceFacts, 'name' | 'genre' | 'description' | 'url' | 'bitrateKbps' | 'audioInfo'> {
  readonly listenUrl: string;
  readonly type: string;
  /** The codec of Ogg; "": not Ogg, or unknown. */
  readonly subtype: string;
}

/** The changing facts, sent with each touch. */
export interface ListedNow {
  readonly title: string;
  readonly listeners: number;
  readonly maxListeners: number;
}

export type YpAnswer =
  /** @member sid null: none, or an invalid one @member touchSeconds null: likewise */
  | { readonly isTaken: true; readonly sid: string | null; readonly touchSeconds: number | null }
  /** @member isHeard false: it is not the answer of a directory */
  | { readonly isTaken: false; readonly isHeard: boolean; readonly reason: string };

export function addForm(listed: YpChannel): string {
  const { name, genre, description, url, listenUrl, type, subtype, bitrateKbps, audioInfo } = listed;
  const form = new URLSearchParams({
    action: 'add',
    sn: name,
    genre,
    cpswd: '',
    desc: description,
    url,
    listenurl: listenUrl,
    type,
    stype: subtype,
    b: bitrateKbps > 0 ? String(bitrateKbps) : '',
  });
  // A source may send anything here, even text that would set another field.
  for (const [, field, value] of audioInfo.matchAll(/(?:^|;)\s*(?:ice-)?(samplerate|channels|quality)=([^;]*)/gi)) {
    form.set(`ice-${field!.toLowerCase()}`, value!.trim());
  }
  return form.toString();
}

export function touchForm(sid: string, { subtype }: YpChannel, now: ListedNow): string {
  const { title, listeners, maxListeners } = now;
  const counts = { listeners: String(listeners), max_listeners: String(maxListeners) };
  return new URLSearchParams({ action: 'touch', sid, st: title, ...counts, stype: subtype }).toString();
}

export function removeForm(sid: string): string {
  return new URLSearchParams({ action: 'remove', sid }).toString();
}

/** Whether both are the same in a directory; the bitrate may differ, as it varies. */
export function isSameListing(one: YpChannel, other: YpChannel): boolean {
  const members = ['name', 'genre', 'description', 'url', 'listenUrl', 'type', 'subtype'] as const;
  return members.every((member) => one[member] === other[member]);
}

/** The longest message in the log. */
const MESSAGE_CHARACTERS = 200;

/** @param headers by name in lower case @param sid of this listing, which must not be logged; "": none yet */
export function readAnswer(status: number, headers: ReadonlyMap<string, string>, sid: string): YpAnswer {
  if (status < 200 || status > 299) return { isTaken: false, isHeard: false, reason: `status ${status}` };
  const response = headers.get('ypresponse')?.trim();
  if (response === undefined) return { isTaken: false, isHeard: false, reason: 'no YPResponse in its answer' };
  if (response !== '1') {
    const message = (headers.get('ypmessage') ?? '').replace(/[^\x20-\x7e]+/g, ' ').trim();
    const reason = (sid === '' ? message : message.replaceAll(sid, '…')).slice(0, MESSAGE_CHARACTERS);
    return { isTaken: false, isHeard: true, reason: reason || 'no reason' };
  }
  const said = headers.get('sid')?.trim() ?? '';
  const touch = headers.get('touchfreq')?.trim() ?? '';
  return {
    isTaken: true,
    sid: /^[\x21-\x7e]{1,255}$/.test(said) ? said : null,
    touchSeconds: /^\d{1,9}$/.test(touch) ? Number(touch) : null,
  };
}
