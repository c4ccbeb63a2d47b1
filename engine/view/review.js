export class Review {
  constructor(page) { this.page = page; }
  hear() {}
  at() {}
  open() {}
}
