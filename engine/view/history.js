// What was seen of each search, thinned so that it stays small: time is looked at on a logarithm.

const MOST = 400;

/** The snapshots of one search, by evaluations, the oldest first. */
export class History {
  constructor() {
    this.kept = [];
  }

  get last() {
    return this.kept[this.kept.length - 1] ?? null;
  }

  add(snapshot) {
    const { kept } = this;
    const at = snapshot.progress.evaluations;
    // A later snapshot of the same tree replaces the earlier one; one of an older tree is late.
    while (kept.length > 0 && this.last.progress.evaluations >= at) kept.pop();
    kept.push(snapshot);
    if (kept.length > MOST) this.thin();
  }

  /** Drops the snapshot whose neighbours are closest together, the newest few left alone. */
  thin() {
    const size = (index) => Math.log(this.kept[index].progress.evaluations + 1);
    let [closest, gap] = [1, Infinity];
    for (let index = 1; index < this.kept.length - 8; index += 1) {
      const between = size(index + 1) - size(index - 1);
      if (between < gap) [closest, gap] = [index, between];
    }
    this.kept.splice(closest, 1);
  }

  /** The newest snapshot with at most so many evaluations; the oldest where there is none. */
  at(evaluations) {
    let found = this.kept[0] ?? null;
    for (const snapshot of this.kept) {
      if (snapshot.progress.evaluations > evaluations) break;
      found = snapshot;
    }
    return found;
  }
}
