/**
 * A title as a service reads it. Pure.
 *
 *   json      Standard Webhooks: { type, timestamp, data: the channel record }
 *   discord   { content }, without mentions             mastodon   { status }, a post
 *   tunein    GET with title, artist and album, or commercial=true          radiode    the same, by other names of the station's parameters
 *   rds       a line to a socket: RadioText             custom     templates of the configuration
 */

import { fill, SERVICE_URLS, type TitlePlace, type TitleWebhookConfig } from '../config/title-webhooks-config.js';
import { contentTag } from '../metadata/etag.js';
import { latin } from '../metadata/latin.js';
import { playId } from '../metadata/record.js';
import { utcTime } from '../metadata/time.js';
import type { RecordView } from '../metadata/view.js';
import type { DeliveryMessage } from '../net/outbound/attempt.js';

export interface RenderedTitle {
  readonly message: DeliveryMessage;
  /** Equal for titles that look the same to the receiver. */
  readonly sameAs: string;
}

type Values = Readonly<Record<TitlePlace, string>>;
type Parts = Omit<DeliveryMessage, 'id'>;

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** The content type Advertising. */
const ADVERTISING = 103;
/** The longest message of Discord, post of Mastodon, and RadioText (IEC 62106). */
const [DISCORD_CHARACTERS, MASTODON_CHARACTERS, RADIO_TEXT_CHARACTERS] = [2000, 500, 64];

/** @param wallMs unix milliseconds @returns null: the message would be empty */
export function renderTitle(view: RecordView, config: TitleWebhookConfig, wallMs: number): RenderedTitle | null {
  const { record } = view;
  const { format } = config;
  const isPost = format !== 'json' && format !== 'custom' && format !== 'rds';
  const isCommercial = (format === 'tunein' || format === 'radiode') && record.etype === ADVERTISING;
  if (isPost && !isCommercial && view.title === '') return null;
  const isChat = format === 'discord' || format === 'mastodon';
  // A chat would refuse an empty message, again and again.
  if (isChat && lineOf(view, config, (value) => value).trim() === '') return null;
  // The id is the same at every machine of a cluster, and another one for each correction.
  const said = [record.channel, record.type, record.effectAtMs, view.json].join(' ');
  const id = `title_${contentTag(said)}`;
  const parts = FORMATS[format](view, config, id);
  const text = format === 'json' ? view.json : `${parts.url} ${parts.body.toString('latin1')}`;
  const sameAs = `${playId(record)} ${record.effectAtMs} ${text}`;
  if (format !== 'json') return { message: { id, ...parts }, sameAs };
  const timestamp = new Date(wallMs).toISOString();
  const body = `{"type":"title.${record.type}","timestamp":"${timestamp}","data":${view.json}}`;
  return { message: { id, ...parts, body }, sameAs };
}

const FORMATS: Readonly<
  Record<TitleWebhookConfig['format'], (view: RecordView, config: TitleWebhookConfig, id: string) => Parts>
> = {
  json: (_, { url, secret: key }) => post(url!, JSON_TYPE, '', key),
  discord: (view, config) => {
    const content = cut(lineOf(view, config, withoutMarkdown), DISCORD_CHARACTERS);
    return post(config.url!, JSON_TYPE, JSON.stringify({ content, allowed_mentions: { parse: [] } }), null);
  },
  mastodon: (view, config, id) => {
    const status = cut(lineOf(view, config, withoutMentions), MASTODON_CHARACTERS);
    const made = post(config.url!, JSON_TYPE, JSON.stringify({ status }), null);
    return { ...made, headers: { ...made.headers, ...authorization(config.token), 'Idempotency-Key': id } };
  },
  tunein: service,
  radiode: service,
  rds: (view, { url, text = 'RT={title}' }) => {
    const values = valuesOf(view);
    const [, command = '', line = ''] = /^([A-Za-z0-9]{1,16}=)?(.*)$/s.exec(fill(text, (name) => latin(values[name])))!;
    const sent = command === '' ? latin(line) : command + latin(line).slice(0, RADIO_TEXT_CHARACTERS);
    return { url: url!, method: 'POST', headers: {}, body: Buffer.from(`${sent}\r\n`, 'latin1'), key: null };
  },
  custom: (view, config) => {
    const { method = 'POST', contentType = JSON_TYPE, body = '', secret: key, token } = config;
    const values = valuesOf(view);
    const url = withParameters(fillUrl(config.url!, values), config, (text) => fill(text, (name) => values[name]));
    if (method === 'GET') return { url, method, headers: authorization(token), body: '', key };
    const written = writerFor(contentType);
    const made = post(
      url,
      contentType,
      fill(body, (name) => written(values[name])),
      key,
    );
    return { ...made, headers: { ...made.headers, ...authorization(token) } };
  },
};

/** The line of a chat. */
function lineOf(
  view: RecordView,
  { text = '{title}' }: TitleWebhookConfig,
  written: (value: string) => string,
): string {
  const values = valuesOf(view);
  return fill(text, (name) => written(values[name]));
}

function post(url: string, type: string, body: string, key: DeliveryMessage['key']): Parts {
  return { url, method: 'POST', headers: { 'Content-Type': type }, body, key };
}

/** A service that gets the title in a GET, and knows a station by its parameters. */
function service({ record, title }: RecordView, config: TitleWebhookConfig): Parts {
  const { artist, song, album, etype } = record;
  const said = { title: song || title, artist: song === '' ? '' : artist, album };
  const url = new URL(withParameters(config.url ?? SERVICE_URLS[config.format]!, config));
  for (const [name, value] of Object.entries(etype === ADVERTISING ? { commercial: 'true' } : said)) {
    if (value !== '') url.searchParams.set(name, value);
  }
  return { url: url.href, method: 'GET', headers: {}, body: '', key: null };
}

/** @param filled fills templates in values; not called for secrets */
function withParameters(
  href: string,
  { parameters = {} }: TitleWebhookConfig,
  filled = (value: string) => value,
): string {
  const entries = Object.entries(parameters);
  if (entries.length === 0) return href;
  const url = new URL(href);
  for (const [name, value] of entries) {
    url.searchParams.set(name, typeof value === 'string' ? filled(value) : value.reveal());
  }
  return url.href;
}

function authorization(token: TitleWebhookConfig['token']): Readonly<Record<string, string>> {
  return token === undefined ? {} : { Authorization: `Bearer ${token.reveal()}` };
}

/** A title must not be a step of the path: `..` would lead elsewhere, however it is encoded. With a blank after it, it is a name. */
function fillUrl(template: string, values: Values): string {
  const [, path = '', rest = ''] = /^([^?#]*)(.*)$/s.exec(template)!;
  const segment = (value: string) => encodeURIComponent(/^\.{1,2}$/.test(value) ? `${value} ` : value);
  return fill(path, (name) => segment(values[name])) + fill(rest, (name) => encodeURIComponent(values[name]));
}

/** How values are escaped in a body of this type. */
function writerFor(contentType: string): (value: string) => string {
  if (/json/i.test(contentType)) return (value) => JSON.stringify(value).slice(1, -1);
  if (/xml|html/i.test(contentType)) return (value) => value.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return contentType.toLowerCase().startsWith(FORM_TYPE) ? encodeURIComponent : (value) => value;
}

function valuesOf(view: RecordView): Values {
  const { record, channel, title, cover } = view;
  const { artist, song, album, isrc, id, etype, durationSeconds, type, startSeconds } = record;
  return {
    title,
    artist,
    song,
    album,
    cover,
    isrc,
    id,
    type,
    etype: String(etype),
    duration: String(durationSeconds),
    time: utcTime(startSeconds),
    timestamp: String(Math.floor(startSeconds)),
    channel: channel.name || channel.key,
    channelkey: channel.key,
    station: channel.station,
  };
}

function withoutMarkdown(value: string): string {
  return value.replace(/[\\*_~`|[\]<]|^[-#>]/g, '\\$&');
}

/** A zero-width space after each @, so that a title mentions no account. */
function withoutMentions(value: string): string {
  return value.replace(/@/g, '@\u200b');
}

function cut(text: string, characters: number): string {
  const all = [...text];
  return all.length <= characters ? text : `${all.slice(0, characters - 1).join('')}…`;
}
