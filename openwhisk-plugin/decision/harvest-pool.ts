import type { Claim } from './claim.js';
import { removeAt } from './remove-at.js';

/** A part of one claim's `borrowed`, from a lender's unused share or (lender null) from capacity nobody has a claim on. */
interface Loan {
  lender: Claim | null;
  borrower: Claim;
  amount: number;
  /** Expected end: the lender's, or the borrower's where there is no lender. Monotonic ms. */
  end: number;
}

/** Less than this is nothing (millicores or bytes). */
export const EPSILON = 1e-6;

/** Less than this share of the user's limit is not worth a write while the activation runs. */
const LEAST_RAISE = 0.05;

/**
 * What one host can lend of one resource (design §3.4): allocatable capacity less a reserve, less what running activations were granted.
 * Within its user limit a claim is always granted; everything above is a loan, and loans give way: the sum of grants stays within
 * the capacity as long as the user limits alone do. An idle container has no claim. A wish that the pool could not meet is
 * remembered; `serve` meets it from what others have given back since.
 */
export class HarvestPool {
  #allocatable: number;
  #reserve: number;
  readonly #claims: Claim[] = [];
  /** Ordered by expected end, the latest last. */
  readonly #loans: Loan[] = [];
  readonly #spareLoans: Loan[] = [];
  readonly #changed: Claim[] = [];
  /** Claims that want more than their user's limit. */
  #borrowers = 0;
  #own = 0;
  #borrowed = 0;
  #user = 0;
  #unbacked = 0;
  #recalling: Claim | null = null;

  constructor(allocatable: number, reserve: number) {
    this.#allocatable = allocatable;
    this.#reserve = reserve;
  }

  /** What could be lent now. */
  get free(): number {
    return Math.max(0, this.#capacity - this.#own - this.#borrowed);
  }

  get granted(): number {
    return this.#own + this.#borrowed;
  }

  get borrowed(): number {
    return this.#borrowed;
  }

  /** Below the user limits of what runs. */
  get harvested(): number {
    return this.#user - this.#own;
  }

  /** What holds something now. */
  get claims(): number {
    return this.#claims.length;
  }

  get loans(): number {
    return this.#loans.length;
  }

  resize(allocatable: number, reserve: number): void {
    this.#allocatable = allocatable;
    this.#reserve = reserve;
    this.#settle();
  }

  /** Something starts to run: `wanted` up to `user` is granted, the rest borrowed as far as the pool goes. */
  begin(claim: Claim, user: number, wanted: number, expectedEnd: number): void {
    if (claim.index >= 0) this.end(claim);
    claim.index = this.#claims.push(claim) - 1;
    claim.user = user;
    claim.wanted = 0;
    claim.own = Math.min(user, wanted);
    claim.borrowed = 0;
    claim.lent = 0;
    claim.expectedEnd = expectedEnd;
    claim.changed = false;
    this.#want(claim, wanted);
    this.#user += user;
    this.#own += claim.own;
    this.#settle();
    if (wanted > user) this.#borrow(claim, wanted - user);
  }

  /** Changes what a running claim holds, up or down; never takes more than `wanted`. */
  change(claim: Claim, wanted: number, expectedEnd: number): void {
    if (claim.index < 0) return;
    claim.expectedEnd = expectedEnd;
    this.#want(claim, wanted);
    const own = Math.min(claim.user, wanted);
    if (own > claim.own) this.#raiseOwn(claim, own);
    else {
      this.#own -= claim.own - own;
      claim.own = own;
    }
    const extra = wanted - claim.user;
    if (extra > claim.borrowed) this.#borrow(claim, extra - claim.borrowed);
    else this.#giveBack(claim, claim.borrowed - Math.max(0, extra));
    // Its holder asked, and reads what came of it.
    claim.changed = false;
  }

  /** The lender trips or wants its share: the whole user limit at once, and what it lent comes back. */
  restore(claim: Claim): void {
    if (claim.index < 0) return;
    this.#want(claim, Math.max(claim.user, claim.wanted));
    this.#raiseOwn(claim, claim.user);
    claim.changed = false;
  }

  /** The run ended. What it lent is backed by others where they can, else the borrowers are cut. */
  end(claim: Claim): void {
    if (claim.index < 0) return;
    this.#want(claim, 0);
    this.#giveBack(claim, claim.borrowed);
    const last = this.#claims.pop() as Claim;
    if (last !== claim) {
      this.#claims[claim.index] = last;
      last.index = claim.index;
    }
    claim.index = -1;
    this.#user -= claim.user;
    this.#own -= claim.own;
    if (claim.lent > 0) this.#recall(claim);
    claim.own = 0;
    claim.user = 0;
    claim.changed = false;
    // Sums of fractions drift; an idle host starts from zero again.
    if (this.#claims.length === 0) {
      this.#user = 0;
      this.#own = 0;
      this.#borrowed = 0;
      this.#unbacked = 0;
    }
  }

  /**
   * Lends what is free to those who run already and got less than they wanted, the one expected to end first before all others: it
   * passes the loan on soonest, and loans are cut in the opposite order, so none is given only to be the first one cut.
   */
  serve(): void {
    while (this.#borrowers > 0 && this.free > EPSILON) {
      const { free } = this;
      let first: Claim | null = null;
      for (let i = 0; i < this.#claims.length; i++) {
        const claim = this.#claims[i] as Claim;
        if (first !== null && claim.expectedEnd >= first.expectedEnd) continue;
        const amount = Math.min(claim.unmet, free);
        if (amount > EPSILON && amount >= LEAST_RAISE * claim.user) first = claim;
      }
      if (first === null) return;
      this.#willChange(first);
      if (this.#borrow(first, first.unmet) <= EPSILON) return;
    }
  }

  /** One that others have left with less or more than its holder knows of, and which now counts as told; null = no more. */
  nextChanged(): Claim | null {
    while (this.#changed.length > 0) {
      const claim = this.#changed.shift() as Claim;
      // Ended, or begun anew, in the meantime.
      if (!claim.changed) continue;
      claim.changed = false;
      if (Math.abs(claim.granted - claim.known) > EPSILON) return claim;
    }
    return null;
  }

  get #capacity(): number {
    return this.#allocatable - this.#reserve;
  }

  #want(claim: Claim, wanted: number): void {
    if (claim.wanted > claim.user) this.#borrowers--;
    if (wanted > claim.user) this.#borrowers++;
    claim.wanted = wanted;
  }

  #raiseOwn(claim: Claim, own: number): void {
    this.#own += own - claim.own;
    claim.own = own;
    if (claim.lent > claim.user - own) this.#recall(claim);
    this.#settle();
  }

  /** Takes all back that a claim lent; its borrowers are served anew from what is left. */
  #recall(lender: Claim): void {
    this.#recalling = lender;
    for (let i = this.#loans.length - 1; i >= 0; i--) {
      const loan = this.#loans[i] as Loan;
      if (loan.lender !== lender) continue;
      const { borrower, amount } = loan;
      this.#willChange(borrower);
      this.#reduce(i, amount);
      this.#borrow(borrower, amount);
      // Serving anew inserts loans of others, never of this lender: start over, the list is short.
      i = this.#loans.length;
    }
    this.#recalling = null;
  }

  /** Cuts loans, the one that would last longest first, until the grants fit. */
  #settle(): void {
    let over = this.#own + this.#borrowed - this.#capacity;
    while (over > EPSILON && this.#loans.length > 0) {
      const last = this.#loans.length - 1;
      const loan = this.#loans[last] as Loan;
      const amount = Math.min(over, loan.amount);
      this.#willChange(loan.borrower);
      this.#reduce(last, amount);
      over -= amount;
    }
  }

  #borrow(borrower: Claim, wanted: number): number {
    let left = Math.min(wanted, this.free);
    const before = left;
    if (left <= EPSILON) return 0;
    const unclaimed = this.#capacity - this.#user - this.#unbacked;
    if (unclaimed > EPSILON) {
      const amount = Math.min(left, unclaimed);
      this.#lend(null, borrower, amount);
      left -= amount;
    }
    while (left > EPSILON) {
      let lender: Claim | null = null;
      for (let i = 0; i < this.#claims.length; i++) {
        const claim = this.#claims[i] as Claim;
        if (claim === borrower || claim === this.#recalling) continue;
        if (claim.user - claim.own - claim.lent <= EPSILON) continue;
        if (lender === null || claim.expectedEnd > lender.expectedEnd) lender = claim;
      }
      if (lender === null) break;
      const amount = Math.min(left, lender.user - lender.own - lender.lent);
      this.#lend(lender, borrower, amount);
      left -= amount;
    }
    return before - left;
  }

  #lend(lender: Claim | null, borrower: Claim, amount: number): void {
    const loan = this.#spareLoans.pop() ?? { lender, borrower, amount, end: 0 };
    loan.lender = lender;
    loan.borrower = borrower;
    loan.amount = amount;
    loan.end = lender === null ? borrower.expectedEnd : lender.expectedEnd;
    if (lender === null) this.#unbacked += amount;
    else lender.lent += amount;
    borrower.borrowed += amount;
    this.#borrowed += amount;
    let place = this.#loans.length;
    this.#loans.push(loan);
    while (place > 0 && (this.#loans[place - 1] as Loan).end > loan.end) {
      this.#loans[place] = this.#loans[place - 1] as Loan;
      place--;
    }
    this.#loans[place] = loan;
  }

  #giveBack(borrower: Claim, amount: number): void {
    let left = amount;
    for (let i = this.#loans.length - 1; i >= 0 && left > EPSILON; i--) {
      const loan = this.#loans[i] as Loan;
      if (loan.borrower !== borrower) continue;
      const part = Math.min(left, loan.amount);
      this.#reduce(i, part);
      left -= part;
    }
  }

  #reduce(index: number, amount: number): void {
    const loan = this.#loans[index] as Loan;
    loan.amount -= amount;
    if (loan.lender === null) this.#unbacked -= amount;
    else loan.lender.lent = Math.max(0, loan.lender.lent - amount);
    loan.borrower.borrowed = Math.max(0, loan.borrower.borrowed - amount);
    this.#borrowed -= amount;
    if (loan.amount > EPSILON) return;
    // A remainder too small to count leaves with the loan.
    this.#borrowed -= loan.amount;
    if (loan.lender === null) this.#unbacked -= loan.amount;
    else loan.lender.lent = Math.max(0, loan.lender.lent - loan.amount);
    loan.borrower.borrowed = Math.max(0, loan.borrower.borrowed - loan.amount);
    removeAt(this.#loans, index);
    this.#spareLoans.push(loan);
  }

  /** Before its loans are changed for the sake of others. */
  #willChange(claim: Claim): void {
    if (claim.changed) return;
    claim.changed = true;
    claim.known = claim.granted;
    this.#changed.push(claim);
  }
}
