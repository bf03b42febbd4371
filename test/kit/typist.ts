/** Types lines of documents, by rules and in their order, and then those that were printed in their turn. */

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
  /** What stands in the line, and what is typed in its place. */
  readonly as?: readonly (readonly [string, string])[];
  /** A line of shell that holds once it has run; where it goes on by itself, while it does. */
  readonly holds?: string;
  /** It goes on until it is interrupted, or `stays` while the others run. */
  readonly goesOn?: 'stays' | true;
  /** Where it is asked in a terminal: Enter. */
  readonly isAsked?: true;
  /** Of what says by its code what it has found. */
  readonly codes?: readonly number[];
  /** Secrets in its output, by the names that documents use. */
  readonly secrets?: RegExp;
  /** What it prints is typed in another scene. */
  readonly isKnown?: true;
}

const OF_SYSTEM = /^(sysctl|systemctl) /;

export class Typist {
  readonly machine: ShellMachine;
  readonly #t: Test;
  readonly #printed = new Set<string>();
  readonly typed = new Set<string>();
  /** Rules by which a line was typed. */
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

  /** @param lines of which those are typed that have a rule */
  async follow(rules: readonly Rule[], lines: readonly string[]): Promise<void> {
    for (let before = -1; before < this.#printed.size; ) {
      before = this.#printed.size;
      for (const rule of rules) {
        const chosen = new Set([...lines, ...this.#printed].filter((text) => rule.line.test(text)));
        for (const text of chosen) if (!this.typed.has(text)) await this.#type(text, rule);
      }
    }
  }

  /** What stays is interrupted. */
  async stop(): Promise<void> {
    for (const running of this.#staying.reverse()) {
      this.#t.notOk(running.hasEnded() && running.said(), 'it has stayed');
      await running.interrupt();
    }
    this.#staying = [];
  }

  /** What was printed must have been typed, but what would change the system. */
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

  /** As it is typed. */
  #form(text: string, { as = [] }: Rule): string {
    const known = ['TOKEN', 'PASSWORD'].filter((name) => this.machine.env[name] !== undefined);
    const chosen = known.map((name) => [new RegExp(`(?<![$\\w])${name}\\b`), this.machine.env[name]!] as const);
    const own = [[/\b(CONFIG|FILE)(?=$| &&)/g, '~/radio/airsplice.yaml'] as const];
    return [...as, ...chosen, ...own].reduce((form, [from, to]) => form.replace(from, () => to), text);
  }

  async #once(t: Test, form: string, { says, codes = [0], holds, isAsked }: Rule): Promise<string> {
    // `script` is a terminal.
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
