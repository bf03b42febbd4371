/** What `airsplice doctor` has found out about one thing, and what is to be done. */

export interface DoctorFinding {
  /** What was looked at: `ports`, `disk` … */
  readonly about: string;
  /** `note`: it works, and could be better, or cannot be known; `bad`: something does not work, or will not. */
  readonly verdict: 'good' | 'note' | 'bad';
  readonly text: string;
  /** What to do; "" where there is nothing. */
  readonly advice: string;
}

/** Findings about one thing. */
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
