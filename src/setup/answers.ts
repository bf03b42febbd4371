/**
 * A first configuration from four answers: the station's name, its channels, where listeners reach it, where the audio comes from.
 * Each answer is parsed separately, so that a terminal can ask again; an invalid one throws an AnswerError.
 */

import { existsSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { KEY } from '../base/key.js';
import { CONTROL } from '../config/field.js';
import { isReserved } from '../config/reserved.js';
import { audioProblem } from '../source/files/audio-file.js';
import { type Comment, type Draft, type DraftOptions, everyNetwork, type Option, VARIABLE_START } from './draft.js';
import { makePassword, makeToken } from './made-secret.js';
import { programName } from './program-name.js';

/** The problem of an answer, as a sentence. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

export interface NewChannel {
  readonly key: string;
  readonly name: string;
}

/** Where clients reach the server. */
export interface Reach {
  readonly port: number;
  /** As in Draft. */
  readonly publicUrl: string;
  /** Whether a proxy is in front. */
  readonly isProxied: boolean;
}

export type NewSource =
  | { readonly type: 'encoder' }
  | { readonly type: 'pull'; readonly url: string }
  /** The path is absolute. */
  | { readonly type: 'file'; readonly path: string };

export interface Answers {
  readonly station: string;
  readonly channels: readonly NewChannel[];
  readonly reach: Reach;
  readonly sources: readonly NewSource[];
}

const PORT = 8000;
const MAX_NAME = 255;
const MAX_CHANNELS = 100;
const MAX_SOURCES = 16;
const ENCODER = 'encoder';

/** Throws AnswerError. */
export function readName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > MAX_NAME) throw new AnswerError(`a name has 1 to ${MAX_NAME} characters`);
  if (CONTROL.test(name)) throw new AnswerError('a name has no control characters');
  if (name.includes(VARIABLE_START)) throw new AnswerError(`a name cannot contain ${VARIABLE_START}`);
  return name;
}

/** A key for URLs, made from a name: `Radio Wave` becomes `radio-wave`. '': it has no usable characters. */
export function keyFrom(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '');
  const key = plain.toLowerCase().replace(/[^a-z0-9_]+/g, '-');
  return key.replace(/^-+|-+$/g, '').slice(0, 64);
}

/** Names or keys, separated by commas. Throws AnswerError. */
export function readChannels(text: string): NewChannel[] {
  const channels = text.split(',').map((part) => {
    const name = readName(part);
    const key = KEY.test(name) ? name : keyFrom(name);
    if (key === '') throw new AnswerError(`"${name}" needs letters from a to z or digits, since it is used in URLs`);
    if (isReserved(key)) throw new AnswerError(`/${key} is a path of the server itself: choose another name`);
    return { key, name };
  });
  if (channels.length > MAX_CHANNELS) throw new AnswerError(`at most ${MAX_CHANNELS} channels at first`);
  if (new Set(channels.map(({ key }) => key)).size < channels.length)
    throw new AnswerError('two of these channels would be played at the same path');
  return channels;
}

/** A port, or a URL: one without a port, or with https, is that of a proxy in front of this server. Throws AnswerError. */
export function readReach(text: string): Reach {
  const answer = text.trim();
  if (/^\d{1,5}$/.test(answer)) return { port: readPort(answer), publicUrl: '', isProxied: false };
  const url = URL.canParse(answer) ? new URL(answer) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || answer.includes(VARIABLE_START))
    throw new AnswerError('enter a port such as 8000, or a URL such as https://radio.example');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new AnswerError('enter a URL without user, password, ? and #');
  const isProxied = url.protocol === 'https:' || url.port === '';
  const publicUrl = answer.replace(/\/+$/, '');
  return { port: isProxied ? PORT : readPort(url.port), publicUrl, isProxied };
}

/** Throws AnswerError. */
export function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new AnswerError('a port is a whole number from 1 to 65535');
}

/** `encoder`, URLs and files, best first, separated by commas. Throws AnswerError. @param folder that files are relative to */
export function readSources(text: string, folder: string): NewSource[] {
  const parts = text.split(',').map((part) => part.trim());
  const sources = parts.map((part): NewSource => {
    if (part === ENCODER) return { type: 'encoder' };
    if (part === '' || part.includes(VARIABLE_START))
      throw new AnswerError('enter encoder, the URL of a stream, or a file');
    if (/^https?:\/\//i.test(part)) {
      if (URL.canParse(part)) return { type: 'pull', url: part };
      throw new AnswerError('that is not a URL');
    }
    const path = resolve(folder, part);
    if (!existsSync(path)) throw new AnswerError(`no file ${path}; enter encoder, the URL of a stream, or a file`);
    const problem = problemOf(path);
    if (problem !== null) throw new AnswerError(`${path} ${problem}`);
    return { type: 'file', path };
  });
  if (sources.length > MAX_SOURCES) throw new AnswerError(`at most ${MAX_SOURCES} sources`);
  if (sources.filter(({ type }) => type === 'encoder').length > 1)
    throw new AnswerError('encoder may be listed only once');
  return sources;
}

function problemOf(path: string): string | null {
  try {
    return audioProblem(path);
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** @param path of the configuration, absolute */
export function draftOf({ station, channels, reach, sources }: Answers, path: string): Draft {
  const stationKey = keyFrom(station) || 'station';
  const { options: network, comments } = networkOptions(reach);
  const under = ['stations', stationKey, 'channels'];
  const made = channels.map(({ key, name }) => {
    const token = makeToken();
    const password = sources.some(({ type }) => type === 'encoder') ? makePassword() : null;
    const options: DraftOptions = {
      name,
      pushTokens: [token.option],
      sources: sources.map((source) => sourceOptions(source, password?.option ?? '', dirname(path))),
    };
    const encoder = password === null ? null : { user: 'source', password: password.plain };
    return { key, options, login: { key, mount: `/${key}`, token: token.plain, encoder } };
  });
  const first = [...under, channels[0]!.key];
  return {
    options: {
      ...network,
      data: { folder: dataFolder(path) },
      stations: {
        [stationKey]: { name: station, channels: Object.fromEntries(made.map(({ key, options }) => [key, options])) },
      },
    },
    comments: [
      ...comments,
      { path: ['data'], text: 'Titles and their history, kept across restarts.' },
      { path: ['stations'], text: 'By key, as used in URLs: a channel is played at /KEY.' },
      {
        path: [...first, 'pushTokens'],
        text: `The token allows pushing titles; this is its digest. ${programName()} token ${channels[0]!.key} creates another.`,
      },
      { path: [...first, 'sources'], text: 'What feeds the channel, best first: the first one that works is on air.' },
      ...sources.map((source, i) => ({ path: [...first, 'sources', i], text: SOURCE_COMMENTS[source.type] })),
    ],
    lost: [],
    logins: made.map(({ login }) => login),
    port: reach.port,
    publicUrl: reach.publicUrl,
  };
}

const SOURCE_COMMENTS: Readonly<Record<NewSource['type'], string>> = {
  encoder: 'An encoder that connects to this server as to Icecast 2 or SHOUTcast 1, and the digest of its password.',
  pull: 'A stream from another server.',
  file: 'A file, looped. As the last source it keeps the channel on air.',
};

function sourceOptions(source: NewSource, password: string, folder: string): Option {
  if (source.type === 'encoder') return { type: 'encoder', user: 'source', password };
  return source.type === 'pull' ? { ...source } : { type: 'file', path: pathIn(folder, source.path) };
}

/** A file's path for the configuration: relative if the file is in its folder. */
export function pathIn(folder: string, path: string): string {
  const inside = relative(folder, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}

/** The data folder: for a configuration below /etc, the system's place for data. @param path of the configuration */
export function dataFolder(path: string): string {
  return path.startsWith('/etc/') ? '/var/lib/airsplice' : 'data';
}

function networkOptions({ port, publicUrl, isProxied }: Reach): { options: DraftOptions; comments: Comment[] } {
  const host = everyNetwork();
  const roles = ['push', 'poll', 'watch', 'stream', 'encoder'];
  const listening = { path: ['addresses'], text: `Where the server listens: ${host} means all networks.` };
  if (!isProxied) {
    const streams: DraftOptions = publicUrl === '' ? {} : { streams: { publicUrl } };
    const comments = publicUrl === '' ? [] : [{ path: ['streams', 'publicUrl'], text: 'In playlists and statistics.' }];
    return { options: { addresses: [{ host, port }], ...streams }, comments: [listening, ...comments] };
  }
  return {
    options: {
      addresses: [
        { host, port, roles },
        { host: '127.0.0.1', port: opsPort(port), roles: ['ops', 'admin'] },
      ],
      proxies: { trusted: ['127.0.0.1', '::1'] },
      streams: { publicUrl },
    },
    comments: [
      listening,
      { path: ['addresses', 1], text: 'Metrics and /admin, for this machine only: no proxy may forward to it.' },
      {
        path: ['proxies'],
        text: `The proxies in front of this server, here those on this machine: they pass on client addresses.\nEncoders connect to port ${port} itself: an HTTP proxy does not forward an endless body.`,
      },
      { path: ['streams', 'publicUrl'], text: 'Where listeners reach the proxy: in playlists and statistics.' },
    ],
  };
}

/** Skips the next port, which is for SHOUTcast encoders. */
function opsPort(port: number): number {
  return port + 2 <= 65_535 ? port + 2 : port - 2;
}
