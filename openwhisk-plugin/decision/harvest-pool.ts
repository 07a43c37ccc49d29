import type { Claim } from './claim.js';

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

/**
 * What one host can lend of one resource (design §3.4): allocatable capacity less a reserve, less what running activations were granted.
 * Within its user limit a claim is always granted; everything above is a loan, and loans give way: the sum of grants stays within
 * the capacity as long as the user limits alone do. An idle container has no claim.
 */
export class HarvestPool {
  #allocatable: number;
  #reserve: number;
  readonly #claims: Claim[] = [];
  /** Ordered by expected end, the latest last. */
  readonly #loans: Loan[] = [];
  readonly #spareLoans: Loan[] = [];
  #cut: Claim[] = [];
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
    claim.own = Math.min(user, wanted);
    claim.borrowed = 0;
    claim.lent = 0;
    claim.expectedEnd = expectedEnd;
    claim.cut = false;
    this.#user += user;
    this.#own += claim.own;
    this.#settle();
    if (wanted > user) this.#borrow(claim, wanted - user);
  }

  /** Changes what a running claim holds, up or down; never takes more than `wanted`. */
  change(claim: Claim, wanted: number, expectedEnd: number): void {
    if (claim.index < 0) return;
    claim.expectedEnd = expectedEnd;
    const own = Math.min(claim.user, wanted);
    if (own > claim.own) this.#raiseOwn(claim, own);
    else {
      this.#own -= claim.own - own;
      claim.own = own;
    }
    const extra = wanted - claim.user;
    if (extra > claim.borrowed) this.#borrow(claim, extra - claim.borrowed);
    else this.#giveBack(claim, claim.borrowed - Math.max(0, extra));
  }

  /** The lender trips or wants its share: the whole user limit at once, and what it lent comes back. */
  restore(claim: Claim): void {
    if (claim.index >= 0) this.#raiseOwn(claim, claim.user);
  }

  /** The run ended. What it lent is backed by others where they can, else the borrowers are cut. */
  end(claim: Claim): void {
    if (claim.index < 0) return;
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
    claim.cut = false;
    // Sums of fractions drift; an idle host starts from zero again.
    if (this.#claims.length === 0) {
      this.#user = 0;
      this.#own = 0;
      this.#borrowed = 0;
      this.#unbacked = 0;
    }
  }

  /** Claims whose loans were cut since the last call. */
  takeCut(visit: (claim: Claim) => void): void {
    if (this.#cut.length === 0) return;
    const cut = this.#cut;
    this.#cut = [];
    for (const claim of cut) {
      // Ended, or begun anew, in the meantime.
      if (!claim.cut) continue;
      claim.cut = false;
      visit(claim);
    }
  }

  get #capacity(): number {
    return this.#allocatable - this.#reserve;
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
      this.#reduce(i, amount);
      if (this.#borrow(borrower, amount) < amount - EPSILON) this.#markCut(borrower);
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
      this.#markCut(loan.borrower);
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
    this.#loans.splice(index, 1);
    this.#spareLoans.push(loan);
  }

  #markCut(claim: Claim): void {
    if (claim.cut) return;
    claim.cut = true;
    this.#cut.push(claim);
  }
}
