/**
 * Firefox for tests, without a display, a sound card or access beyond loopback: one browser with one tab and its own profile, controlled by its
 * built-in WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/). Debian has no geckodriver, and its Firefox lacks commands that Playwright
 * uses. It ends with its test.
 *
 *   --remote-debugging-port 0 ─► "listening on ws://…" ─► session.new ─► browsingContext.navigate, script.callFunction
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import type { Tab } from './browser.js';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

export const FIREFOX = 'firefox-esr';
const START_MS = 60_000;
/** A port without a listener. */
const NOWHERE_PORT = 9;
const LOCAL = /^(?:data:|(?:blob:http|http|ws):\/\/127\.0\.0\.1:)/;

const PREFS: Readonly<Record<string, string | number | boolean>> = {
  // A fake sound card that keeps time; without one Firefox plays by the clock, but reports an error.
  'media.cubeb.force_mock_context': true,
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  // Requests beyond loopback go to a proxy that does not exist.
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': NOWHERE_PORT,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': NOWHERE_PORT,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'extensions.update.enabled': false,
  'media.gmp-manager.updateEnabled': false,
  'browser.safebrowsing.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.aboutwelcome.enabled': false,
  'browser.newtabpage.enabled': false,
  'browser.startup.page': 0,
  'startup.homepage_welcome_url': '',
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
  'toolkit.telemetry.server': '',
};

interface Answer {
  readonly type: 'success' | 'error' | 'event';
  readonly id?: number;
  readonly result?: unknown;
  readonly message?: string;
  readonly method?: string;
  readonly params?: unknown;
}

interface Waiting {
  readonly done: (result: unknown) => void;
  readonly fail: (error: Error) => void;
}

export class Firefox implements Tab {
  /** Warnings and errors on the console, and uncaught errors. */
  readonly complaints: string[] = [];
  /** URLs that pages requested over the network, and those of them beyond loopback. */
  readonly requested: string[] = [];
  readonly strangers: string[] = [];
  readonly #program: Program;
  readonly #waiting = new Map<number, Waiting>();
  #socket: WebSocket | undefined;
  #context = '';
  #lastId = 0;

  private constructor(program: Program) {
    this.#program = program;
  }

  static async start(t: Test): Promise<Firefox> {
    const profile = tempFolder(t);
    const lines = Object.entries(PREFS).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    );
    writeFileSync(join(profile, 'user.js'), lines.join(''));
    const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', 'about:blank'];
    const program = new Program(t, FIREFOX, args, { HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' });
    t.teardown(() => program.stop('SIGKILL'));
    const firefox = new Firefox(program);
    await firefox.#connect();
    return firefox;
  }

  async goto(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' });
  }

  /** In CSS pixels. */
  async setViewport(viewport: { readonly width: number; readonly height: number }): Promise<void> {
    await this.#send('browsingContext.setViewport', { context: this.#context, viewport });
  }

  /** A PNG of the viewport. */
  async screenshot(): Promise<Buffer> {
    const { data } = (await this.#send('browsingContext.captureScreenshot', { context: this.#context })) as {
      data: string;
    };
    return Buffer.from(data, 'base64');
  }

  /** Calls the function in the page, with argument and result as JSON; counts as a user's gesture. */
  async evaluate<A, R>(call: (argument: A) => R | Promise<R>, argument: A): Promise<R> {
    const answer = (await this.#send('script.callFunction', {
      functionDeclaration: `async () => JSON.stringify((await (${call})(${JSON.stringify(argument)})) ?? null)`,
      target: { context: this.#context },
      awaitPromise: true,
      userActivation: true,
    })) as { result?: { value: string }; exceptionDetails?: { text: string } };
    if (answer.result === undefined) throw new Error(answer.exceptionDetails?.text ?? 'the page has gone');
    return JSON.parse(answer.result.value) as R;
  }

  async #connect(): Promise<void> {
    const address = () => /WebDriver BiDi listening on (ws:\S+)/.exec(this.#program.said)?.[1];
    await this.#program.until(() => address() !== undefined, START_MS, 'does not listen');
    const socket = new WebSocket(`${address()}/session`);
    this.#socket = socket;
    const failed = (error: Error) => {
      for (const { fail } of this.#waiting.values()) fail(error);
      this.#waiting.clear();
    };
    socket.on('message', (data) => this.#read(JSON.parse(String(data))));
    socket.on('error', failed);
    socket.on('close', () => failed(new Error(`Firefox has gone: ${this.#program.said}`)));
    await this.#program.until(() => socket.readyState === WebSocket.OPEN, START_MS, 'takes no connection');
    await this.#send('session.new', { capabilities: {} });
    await this.#send('session.subscribe', { events: ['log.entryAdded', 'network.beforeRequestSent'] });
    const { contexts } = (await this.#send('browsingContext.getTree', {})) as { contexts: { context: string }[] };
    this.#context = contexts[0]!.context;
  }

  #send(method: string, params: object): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail });
      this.#socket!.send(JSON.stringify({ id, method, params }));
    });
  }

  #read(answer: Answer): void {
    if (answer.type === 'event') {
      this.#note(answer.method!, answer.params);
      return;
    }
    const waiting = this.#waiting.get(answer.id ?? 0);
    this.#waiting.delete(answer.id ?? 0);
    if (answer.type === 'success') waiting?.done(answer.result);
    else waiting?.fail(new Error(answer.message));
  }

  #note(method: string, params: unknown): void {
    if (method === 'network.beforeRequestSent') {
      const { url } = (params as { request: { url: string } }).request;
      this.requested.push(url);
      if (!LOCAL.test(url)) this.strangers.push(url);
      return;
    }
    const { level, text } = params as { level: string; text: string };
    if (level === 'warn' || level === 'error') this.complaints.push(text);
  }
}
