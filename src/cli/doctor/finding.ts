/** A result of `airsplice doctor`, with advice. */

export interface DoctorFinding {
  /** What was checked: `ports`, `disk` … */
  readonly about: string;
  /** `note`: it works but could be better, or is unknown; `bad`: something does not work, or will not. */
  readonly verdict: 'good' | 'note' | 'bad';
  readonly text: string;
  /** What to do; "": nothing. */
  readonly advice: string;
}

/** Collects findings about one thing. */
export class Findings {
  readonly all: DoctorFinding[] = [];
  readonly #about: string;

  constructor(about: string) {
    this.#about = about;
  }

  good(text: string): void {
    this.all.push({ about: this.#about, verdict: 'good', text, advice: '' });
  }

  note(text: string, advice = ''): void {
    this.all.push({ about: this.#about, verdict: 'note', text, advice });
  }

  bad(text: string, advice: string): void {
    this.all.push({ about: this.#about, verdict: 'bad', text, advice });
  }
}
