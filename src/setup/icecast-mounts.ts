/** The mounts and relays of an icecast.xml. A mount that required a login of listeners never becomes an open channel. */

import { join, normalize } from 'node:path';
import { isCharset } from '../base/charset.js';
import { urlHost } from '../base/ip.js';

import type { DraftOptions } from './draft.js';
import { type ImportedMount, mountProblem, plainText, plainUrl } from './imported.js';
import type { XmlElement } from './xml.js';

export interface MountsContext {
  /** The folder of fallback files; '': unknown. */
  readonly webroot: string;
  readonly isPlayable: (file: string) => boolean;
  readonly publicUrl: string;
  /** Mounts that the file does not name. */
  readonly more: readonly string[];
  readonly lose: (sentence: string) => void;
}

export interface IcecastMounts {
  readonly mounts: readonly ImportedMount[];
  /** `listenerHook`, if a mount needs it; else empty. */
  readonly hook: DraftOptions;
}

const ANSWER_HEADER = /^icecast-auth-user:\s*1$/i;
/** A hook that never answers, so that no listener is admitted until the operator configures a real one. */
const NOBODY = 'http://127.0.0.1:9/';

export function readMounts(root: XmlElement, context: MountsContext): IcecastMounts {
  return new MountReader(root, context).read();
}

class MountReader {
  readonly #root: XmlElement;
  readonly #context: MountsContext;
  readonly #password: string;
  readonly #byMount = new Map<string, ImportedMount>();
  #hookUrl: string | null = null;
  /** Mounts whose listeners had to log in by means other than the hook. */
  readonly #locked = new Set<string>();
  /** Mounts with a hook for encoders, even one that cannot be called here. */
  readonly #judged = new Set<string>();

  constructor(root: XmlElement, context: MountsContext) {
    this.#root = root;
    this.#context = context;
    this.#password = root.one('authentication')?.textOf('source-password') ?? '';
  }

  read(): IcecastMounts {
    const all = this.#root.all('mount');
    const preset = all.find((mount) => mount.attributes['type'] === 'default');
    for (const relay of this.#root.all('relay')) this.#relay(relay);
    for (const mount of all) if (mount !== preset) this.#mount(mount, preset);
    const named = [this.#root.textOf('shoutcast-mount'), ...this.#sockets(), ...this.#context.more];
    for (const mount of named) if (mount !== '') this.#need(mount);
    for (const { fallback } of [...this.#byMount.values()]) {
      if (fallback !== null && 'mount' in fallback) this.#need(fallback.mount);
    }
    if (this.#byMount.size === 0) {
      this.#context.lose(
        'the file names no mount, since Icecast accepts any: /live was created (--channel names others)',
      );
      this.#need('/live');
    }
    const url = this.#hookUrl ?? (this.#locked.size > 0 ? NOBODY : null);
    for (const mount of this.#locked) this.#lock(mount);
    return { mounts: [...this.#byMount.values()], hook: url === null ? {} : { listenerHook: { url } } };
  }

  /** Leaves the mount out if another mount has a hook, which may admit any listener of a mount that it does not know. */
  #lock(mount: string): void {
    const was = `${mount}: its listeners had to log in by a means other than the listenerHook of this server`;
    if (this.#hookUrl === null) this.#context.lose(`${was}: no one can listen until there is a listenerHook`);
    else {
      this.#context.lose(`${was}: it was left out`);
      this.#byMount.delete(mount);
    }
  }

  #sockets(): string[] {
    return this.#root.all('listen-socket').map((socket) => socket.textOf('shoutcast-mount'));
  }

  /** Adds a mount that the file does not describe: any encoder with the shared password may use it. */
  #need(mount: string): void {
    if (this.#byMount.has(mount) || !this.#isMount(mount)) return;
    const encoder = { user: 'source', password: this.#password };
    this.#byMount.set(mount, { mount, encoder, pulls: [], options: {}, fallback: null });
  }

  #isMount(mount: string): boolean {
    const problem = mountProblem(mount);
    if (problem !== null) this.#context.lose(`the mount ${plainText(mount, 255) || '""'} ${problem}`);
    return problem === null;
  }

  #relay(relay: XmlElement): void {
    const upstream = relay.one('upstream') ?? relay;
    const mount = upstream.textOf('mount') || '/';
    const local = relay.textOf('local-mount') || mount;
    const server = upstream.textOf('server') || '127.0.0.1';
    const [user, password] = [upstream.textOf('username'), upstream.textOf('password')];
    const login = password === '' ? '' : `${encodeURIComponent(user || 'relay')}:${encodeURIComponent(password)}@`;
    const url =
      upstream.textOf('uri') || `http://${login}${urlHost(server)}:${upstream.textOf('port') || '8000'}${mount}`;
    relay.textOf('relay-shoutcast-metadata');
    if (!this.#isMount(local)) return;
    if (!/^https?:/.test(url) || !URL.canParse(url) || url.includes('${')) {
      this.#context.lose(`the relay of ${local} (line ${relay.line}) has no URL that could be pulled`);
      return;
    }
    const isOnDemand = (relay.textOf('on-demand') || this.#root.textOf('relays-on-demand')) === '1';
    const pull: DraftOptions = { type: 'pull', url, ...(isOnDemand ? { onDemand: true } : {}) };
    const former = this.#byMount.get(local);
    const pulls = [...(former?.pulls ?? []), pull];
    this.#byMount.set(local, { mount: local, encoder: null, options: {}, fallback: null, pulls });
  }

  #mount(element: XmlElement, preset: XmlElement | undefined): void {
    const mount = element.textOf('mount-name');
    if (!this.#isMount(mount)) return;
    const relayed = this.#byMount.get(mount);
    const given = (name: string): string => {
      const shared = preset?.textOf(name) ?? '';
      return element.textOf(name) || shared;
    };
    const password = given('password');
    const user = plainText(given('username'), 255) || 'source';
    const access = this.#access(mount, element, preset);
    const isAsked = this.#judged.has(mount);
    const isFed = relayed === undefined || password !== '' || isAsked;
    this.#byMount.set(mount, {
      mount,
      // As in Icecast, only the hook decides; passwords of the file are not valid there.
      encoder: isFed ? { user, password: isAsked ? '' : password || this.#password } : null,
      pulls: relayed?.pulls ?? [],
      options: { ...this.#options(mount, given), ...access },
      fallback: this.#fallback(mount, given),
    });
  }

  #options(mount: string, given: (name: string) => string): DraftOptions {
    const options: DraftOptions = {};
    for (const [theirs, ours, most] of TEXTS) {
      const text = plainText(given(theirs), most);
      if (text !== '') options[ours] = text;
    }
    const url = plainUrl(given('stream-url'));
    if (url !== '') options['url'] = url;
    const isPublic = given('public') || (given('no-yp') === '1' ? '0' : '');
    if (isPublic === '0' || isPublic === '1') options['public'] = isPublic === '1';
    for (const [theirs, ours, least, most] of NUMBERS) {
      const number = Number(given(theirs) || Number.NaN);
      if (Number.isInteger(number) && number >= least && number <= most) options[ours] = number;
    }
    for (const read of ['type', 'subtype']) given(read);
    const charset = given('charset');
    if (isCharset(charset)) {
      // UTF-8 is always recognised.
      if (!/^utf-?8$/i.test(charset)) options['charset'] = plainText(charset, 40);
    } else if (charset !== '') this.#context.lose(`${mount}: the charset ${plainText(charset, 40)} is unknown`);
    if (given('burst-size') !== '') this.#context.lose(`${mount}: streams.burstSeconds applies to all channels`);
    return options;
  }

  #fallback(mount: string, given: (name: string) => string): ImportedMount['fallback'] {
    const { webroot, isPlayable, lose } = this.#context;
    const fallback = given('fallback-mount');
    if (given('fallback-override') === '0') lose(`${mount}: listeners return to its source as soon as it is back`);
    if (given('fallback-when-full') === '1' && fallback !== '')
      lose(`${mount}: <fallback-when-full>: overflowUrl can lead listeners to ${plainText(fallback, 255)}`);
    if (fallback === '') return null;
    const file = webroot === '' ? '' : join(webroot, normalize(`/${fallback}`));
    if (file !== '' && isPlayable(file)) return { file };
    if (
      /\.(mp3|ogg|aac|opus)$/.test(fallback) &&
      !this.#root.all('mount').some((each) => each.textOf('mount-name') === fallback)
    )
      lose(
        `${mount}: its fallback ${plainText(fallback, 255)} cannot be played as a file here; it is now a mount for an encoder`,
      );
    return { mount: fallback };
  }

  /** The options that decide who may listen, and who may send. */
  #access(mount: string, element: XmlElement, preset: XmlElement | undefined): DraftOptions {
    const login = element.one('authentication') ?? preset?.one('authentication');
    if (login === undefined) return {};
    const { lose } = this.#context;
    const role = login.all('role').find((each) => each.attributes['type'] === 'url') ?? login;
    const options = new Map(
      [...role.all('option'), ...role.all('options').flatMap((each) => each.all('option'))].map(({ attributes }) => [
        attributes['name'] ?? '',
        attributes['value'] ?? '',
      ]),
    );
    const isUrl = role.attributes['type'] === 'url';
    const url = options.get('listener_add') ?? '';
    for (const name of ['mount_add', 'mount_remove', 'headers', 'username', 'password'])
      if (options.has(name)) lose(`${mount}: ${name} of its authentication has no counterpart`);
    const header = options.get('auth_header') ?? 'icecast-auth-user: 1';
    const encoders = isUrl ? this.#encoderHook(mount, options.get('stream_auth') ?? '', header) : {};
    if (isUrl && url === '' && !options.has('listener_remove')) return encoders;
    const isUsable = isUrl && plainUrl(url) !== '';
    if (isUsable && !ANSWER_HEADER.test(header))
      lose(`${mount}: its hook must answer icecast-auth-user: 1; ${plainText(header, 100)} is ignored`);
    const remove = options.get('listener_remove') ?? url;
    if (isUsable && (this.#hookUrl ?? url) === url) {
      this.#hookUrl = url;
      if (remove !== url) lose(`${mount}: listener_remove goes to the URL of listener_add`);
      return { access: 'hook', ...encoders };
    }
    this.#locked.add(mount);
    return { access: 'hook', ...encoders };
  }

  #encoderHook(mount: string, url: string, header: string): DraftOptions {
    if (url === '') return {};
    this.#judged.add(mount);
    if (plainUrl(url) === '') {
      this.#context.lose(`${mount}: the URL of its stream_auth cannot be requested; encoders need a password`);
      return {};
    }
    if (!ANSWER_HEADER.test(header))
      this.#context.lose(
        `${mount}: its stream_auth must answer icecast-auth-user: 1; ${plainText(header, 100)} is ignored`,
      );
    return { encoderHook: { url } };
  }
}

const TEXTS = [
  ['stream-name', 'name', 255],
  ['stream-description', 'description', 1024],
  ['genre', 'genre', 255],
] as const;

/** Icecast's name, our name, minimum, maximum. */
const NUMBERS = [
  ['bitrate', 'bitrateKbps', 8, 2000],
  ['max-listeners', 'maxListeners', 1, 1_000_000],
  ['max-listener-duration', 'maxListenSeconds', 1, 604_800],
  ['mp3-metadata-interval', 'metaint', 256, 65_535],
] as const;
