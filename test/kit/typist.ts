/** Types lines of documents, by rules and in order, and then the lines that these print. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { printedLines } from './documented.js';
import { missing } from './program.js';
import { type Running, ShellMachine } from './shell-machine.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';

export interface Rule {
  /** The whole line. */
  readonly line: RegExp;
  readonly says: RegExp;
  /** Replacements in the line: text, and what is typed instead. */
  readonly as?: readonly (readonly [string, string])[];
  /** A shell command that must succeed after the line; for a line that keeps running, meanwhile. */
  readonly holds?: string;
  /** It runs until it is interrupted; `stays`: it runs while the others are typed. */
  readonly goesOn?: 'stays' | true;
  /** It asks questions in a terminal, which are answered by Enter. */
  readonly isAsked?: true;
  /** Allowed exit codes of a command that reports findings by its code. */
  readonly codes?: readonly number[];
  /** Matches secrets in its output, by the names in the documents. */
  readonly secrets?: RegExp;
  /** The lines that it prints are typed in another scene. */
  readonly isKnown?: true;
}

const OF_SYSTEM = /^(sysctl|systemctl) /;

export class Typist {
  readonly machine: ShellMachine;
  readonly #t: Test;
  readonly #printed = new Set<string>();
  readonly typed = new Set<string>();
  /** Rules that were used. */
  readonly followed = new Set<Rule>();
  #staying: Running[] = [];

  private constructor(t: Test, machine: ShellMachine) {
    this.#t = t;
    this.machine = machine;
  }

  /** @param folder a built clone */
  static async sit(t: Test, folder: string): Promise<Typist> {
    return new Typist(t, await ShellMachine.boot(t, folder, join(tempFolder(t), 'home')));
  }

  /** @param lines to type, if they have a rule */
  async follow(rules: readonly Rule[], lines: readonly string[]): Promise<void> {
    for (let before = -1; before < this.#printed.size; ) {
      before = this.#printed.size;
      for (const rule of rules) {
        const chosen = new Set([...lines, ...this.#printed].filter((text) => rule.line.test(text)));
        for (const text of chosen) if (!this.typed.has(text)) await this.#type(text, rule);
      }
    }
  }

  /** Interrupts the commands that stay. */
  async stop(): Promise<void> {
    for (const running of this.#staying.reverse()) {
      this.#t.notOk(running.hasEnded() && running.said(), 'it has stayed');
      await running.interrupt();
    }
    this.#staying = [];
  }

  /** Asserts that all printed lines were typed, except those that would change the system. */
  end(): void {
    const left = [...this.#printed].filter((text) => !this.typed.has(text) && !OF_SYSTEM.test(text));
    this.#t.strictSame(left, [], 'each line that was printed has a rule');
  }

  async #type(text: string, rule: Rule): Promise<void> {
    this.typed.add(text);
    this.followed.add(rule);
    const program = /^(?:[A-Z_]+=\S+ )*([\w-]+)/.exec(text)![1]!;
    const isOurs = /^(airsplice|config|mount)$/.test(program);
    const result = await this.#t.test(text, { skip: !isOurs && missing(program) }, async (t) => {
      const form = this.#form(text, rule);
      const said = rule.goesOn === undefined ? await this.#once(t, form, rule) : await this.#meanwhile(t, form, rule);
      Object.assign(this.machine.env, rule.secrets?.exec(said)?.groups);
      if (!rule.isKnown) for (const printed of printedLines(said)) this.#printed.add(printed);
    });
    if (rule.goesOn === 'stays' && result?.ok !== true) throw new Error(`the others need ${text}`);
  }

  /** The line with its replacements. */
  #form(text: string, { as = [] }: Rule): string {
    const known = ['TOKEN', 'PASSWORD'].filter((name) => this.machine.env[name] !== undefined);
    const chosen = known.map((name) => [new RegExp(`(?<![$\\w])${name}\\b`), this.machine.env[name]!] as const);
    const own = [[/\b(CONFIG|FILE)(?=$| &&)/g, '~/radio/airsplice.yaml'] as const];
    return [...as, ...chosen, ...own].reduce((form, [from, to]) => form.replace(from, () => to), text);
  }

  async #once(t: Test, form: string, { says, codes = [0], holds, isAsked }: Rule): Promise<string> {
    // `script` provides a terminal.
    const asked = `script -qec '${form.replaceAll("'", "'\\''")}' /dev/null`;
    const { code, said } = await this.machine.type(isAsked ? asked : form, 60, isAsked && '\n'.repeat(6));
    t.ok(codes.includes(code), `${form} ends with ${codes.join(' or ')}`, { code, said });
    t.match(said, says, form);
    if (holds !== undefined) t.equal((await this.machine.type(holds)).code, 0, holds);
    return said.replaceAll('\r', '');
  }

  async #meanwhile(t: Test, form: string, { says, holds = 'true', goesOn }: Rule): Promise<string> {
    const running = this.machine.start(form);
    const isThere = async () => {
      if (running.hasEnded()) throw new Error(`${form} has ended: ${running.said()}`);
      return says.test(running.said()) && (await this.machine.type(holds)).code === 0;
    };
    await until(isThere, 40_000, () => `${form}, ${holds}: ${running.said()}`, 200);
    t.pass('it goes on');
    if (goesOn === 'stays') this.#staying.push(running);
    else await running.interrupt();
    return running.said();
  }
}
