import type { Allocation } from './allocation.js';
import { removeAt } from './remove-at.js';

/**
 * A part of an allocation's `borrowed`, from a lender's unused share or (lender null) from
 * unallocated capacity.
 */
interface Loan<Owner> {
  lender: Allocation<Owner> | null;
  borrower: Allocation<Owner>;
  amount: number;
  /** Expected end: the lender's, or the borrower's if there is no lender. Monotonic ms. */
  end: number;
}

/** Smaller amounts count as zero (millicores or bytes). */
export const EPSILON = 1e-6;

/** Less than this share of the user's limit is not worth a write while the activation runs. */
const MIN_RAISE = 0.05;

/**
 * What one host can lend of one resource: allocatable capacity less a reserve and less what running
 * activations were granted. Within its user limit an allocation is always granted. Everything above
 * is a loan, and loans are cut first, so the grants fit as long as the user limits alone do.
 */
export class HarvestPool<Owner = unknown> {
  #allocatable: number;
  #reserve: number;
  readonly #allocations: Allocation<Owner>[] = [];
  /** Ordered by expected end, the latest last. */
  readonly #loans: Loan<Owner>[] = [];
  readonly #freeLoans: Loan<Owner>[] = [];
  readonly #changed: Allocation<Owner>[] = [];
  /** Allocations that ask for more than their user's limit. */
  #borrowers = 0;
  #own = 0;
  #borrowed = 0;
  #user = 0;
  #loanedFromFree = 0;
  #revokingFrom: Allocation<Owner> | null = null;

  constructor(allocatable: number, reserve: number) {
    this.#allocatable = allocatable;
    this.#reserve = reserve;
  }

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

  /** Containers that hold a share now. */
  get allocations(): number {
    return this.#allocations.length;
  }

  get loans(): number {
    return this.#loans.length;
  }

  resize(allocatable: number, reserve: number): void {
    this.#allocatable = allocatable;
    this.#reserve = reserve;
    this.#settle();
  }

  /** A container starts to run: `demand` up to `user` is granted, the rest borrowed if possible. */
  begin(allocation: Allocation<Owner>, user: number, demand: number, expectedEnd: number): void {
    if (allocation.index >= 0) this.end(allocation);
    allocation.index = this.#allocations.push(allocation) - 1;
    allocation.user = user;
    allocation.demand = 0;
    allocation.own = Math.min(user, demand);
    allocation.borrowed = 0;
    allocation.lent = 0;
    allocation.expectedEnd = expectedEnd;
    allocation.changed = false;
    this.#setDemand(allocation, demand);
    this.#user += user;
    this.#own += allocation.own;
    this.#settle();
    if (demand > user) this.#borrow(allocation, demand - user);
  }

  /** Changes what a running allocation holds; never takes more than `demand`. */
  change(allocation: Allocation<Owner>, demand: number, expectedEnd: number): void {
    if (allocation.index < 0) return;
    allocation.expectedEnd = expectedEnd;
    this.#setDemand(allocation, demand);
    const own = Math.min(allocation.user, demand);
    if (own > allocation.own) this.#raiseOwn(allocation, own);
    else {
      this.#own -= allocation.own - own;
      allocation.own = own;
    }
    const extra = demand - allocation.user;
    if (extra > allocation.borrowed) this.#borrow(allocation, extra - allocation.borrowed);
    else this.#repay(allocation, allocation.borrowed - Math.max(0, extra));
    // The holder made this change, so it knows the result.
    allocation.changed = false;
  }

  /** The lender gets its whole user limit at once, and its loans come back. */
  restore(allocation: Allocation<Owner>): void {
    if (allocation.index < 0) return;
    this.#setDemand(allocation, Math.max(allocation.user, allocation.demand));
    this.#raiseOwn(allocation, allocation.user);
    allocation.changed = false;
  }

  /** The run ended. Its loans move to other lenders, or the borrowers are cut. */
  end(allocation: Allocation<Owner>): void {
    if (allocation.index < 0) return;
    this.#setDemand(allocation, 0);
    this.#repay(allocation, allocation.borrowed);
    const last = this.#allocations.pop() as Allocation<Owner>;
    if (last !== allocation) {
      this.#allocations[allocation.index] = last;
      last.index = allocation.index;
    }
    allocation.index = -1;
    this.#user -= allocation.user;
    this.#own -= allocation.own;
    if (allocation.lent > 0) this.#revokeLoans(allocation);
    allocation.own = 0;
    allocation.user = 0;
    allocation.changed = false;
    // Sums of fractions drift; an idle host starts from zero again.
    if (this.#allocations.length === 0) {
      this.#user = 0;
      this.#own = 0;
      this.#borrowed = 0;
      this.#loanedFromFree = 0;
    }
  }

  /**
   * Lends free capacity to allocations with unmet demand, first to the one expected to end first:
   * loans are cut in the opposite order, so a new loan is not the first one cut.
   */
  lendFree(): void {
    while (this.#borrowers > 0 && this.free > EPSILON) {
      const { free } = this;
      let first: Allocation<Owner> | null = null;
      for (let i = 0; i < this.#allocations.length; i++) {
        const allocation = this.#allocations[i] as Allocation<Owner>;
        if (first !== null && allocation.expectedEnd >= first.expectedEnd) continue;
        const amount = Math.min(allocation.shortfall, free);
        if (amount > EPSILON && amount >= MIN_RAISE * allocation.user) first = allocation;
      }
      if (first === null) return;
      this.#markChanged(first);
      if (this.#borrow(first, first.shortfall) <= EPSILON) return;
    }
  }

  /** The next allocation whose grant its holder does not know yet; null: no more. */
  nextChanged(): Allocation<Owner> | null {
    while (this.#changed.length > 0) {
      const allocation = this.#changed.shift() as Allocation<Owner>;
      // Ended or restarted in the meantime.
      if (!allocation.changed) continue;
      allocation.changed = false;
      if (Math.abs(allocation.granted - allocation.known) > EPSILON) return allocation;
    }
    return null;
  }

  get #capacity(): number {
    return this.#allocatable - this.#reserve;
  }

  #setDemand(allocation: Allocation<Owner>, demand: number): void {
    if (allocation.demand > allocation.user) this.#borrowers--;
    if (demand > allocation.user) this.#borrowers++;
    allocation.demand = demand;
  }

  #raiseOwn(allocation: Allocation<Owner>, own: number): void {
    this.#own += own - allocation.own;
    allocation.own = own;
    if (allocation.lent > allocation.user - own) this.#revokeLoans(allocation);
    this.#settle();
  }

  /** Takes back all that the lender lent; its borrowers borrow again from what is left. */
  #revokeLoans(lender: Allocation<Owner>): void {
    this.#revokingFrom = lender;
    for (let i = this.#loans.length - 1; i >= 0; i--) {
      const loan = this.#loans[i] as Loan<Owner>;
      if (loan.lender !== lender) continue;
      const { borrower, amount } = loan;
      this.#markChanged(borrower);
      this.#reduce(i, amount);
      this.#borrow(borrower, amount);
      // Borrowing again adds loans of other lenders only: start over, the list is short.
      i = this.#loans.length;
    }
    this.#revokingFrom = null;
  }

  /** Cuts loans, the one that would last longest first, until the grants fit. */
  #settle(): void {
    let over = this.#own + this.#borrowed - this.#capacity;
    while (over > EPSILON && this.#loans.length > 0) {
      const last = this.#loans.length - 1;
      const loan = this.#loans[last] as Loan<Owner>;
      const amount = Math.min(over, loan.amount);
      this.#markChanged(loan.borrower);
      this.#reduce(last, amount);
      over -= amount;
    }
  }

  #borrow(borrower: Allocation<Owner>, demand: number): number {
    let left = Math.min(demand, this.free);
    const before = left;
    if (left <= EPSILON) return 0;
    const unallocated = this.#capacity - this.#user - this.#loanedFromFree;
    if (unallocated > EPSILON) {
      const amount = Math.min(left, unallocated);
      this.#lend(null, borrower, amount);
      left -= amount;
    }
    while (left > EPSILON) {
      let lender: Allocation<Owner> | null = null;
      for (let i = 0; i < this.#allocations.length; i++) {
        const allocation = this.#allocations[i] as Allocation<Owner>;
        if (allocation === borrower || allocation === this.#revokingFrom) continue;
        if (allocation.user - allocation.own - allocation.lent <= EPSILON) continue;
        if (lender === null || allocation.expectedEnd > lender.expectedEnd) lender = allocation;
      }
      if (lender === null) break;
      const amount = Math.min(left, lender.user - lender.own - lender.lent);
      this.#lend(lender, borrower, amount);
      left -= amount;
    }
    return before - left;
  }

  #lend(lender: Allocation<Owner> | null, borrower: Allocation<Owner>, amount: number): void {
    const loan = this.#freeLoans.pop() ?? { lender, borrower, amount, end: 0 };
    loan.lender = lender;
    loan.borrower = borrower;
    loan.amount = amount;
    loan.end = lender === null ? borrower.expectedEnd : lender.expectedEnd;
    if (lender === null) this.#loanedFromFree += amount;
    else lender.lent += amount;
    borrower.borrowed += amount;
    this.#borrowed += amount;
    let place = this.#loans.length;
    this.#loans.push(loan);
    while (place > 0 && (this.#loans[place - 1] as Loan<Owner>).end > loan.end) {
      this.#loans[place] = this.#loans[place - 1] as Loan<Owner>;
      place--;
    }
    this.#loans[place] = loan;
  }

  #repay(borrower: Allocation<Owner>, amount: number): void {
    let left = amount;
    for (let i = this.#loans.length - 1; i >= 0 && left > EPSILON; i--) {
      const loan = this.#loans[i] as Loan<Owner>;
      if (loan.borrower !== borrower) continue;
      const part = Math.min(left, loan.amount);
      this.#reduce(i, part);
      left -= part;
    }
  }

  #reduce(index: number, amount: number): void {
    const loan = this.#loans[index] as Loan<Owner>;
    loan.amount -= amount;
    if (loan.lender === null) this.#loanedFromFree -= amount;
    else loan.lender.lent = Math.max(0, loan.lender.lent - amount);
    loan.borrower.borrowed = Math.max(0, loan.borrower.borrowed - amount);
    this.#borrowed -= amount;
    if (loan.amount > EPSILON) return;
    // A remainder too small to count leaves with the loan.
    this.#borrowed -= loan.amount;
    if (loan.lender === null) this.#loanedFromFree -= loan.amount;
    else loan.lender.lent = Math.max(0, loan.lender.lent - loan.amount);
    loan.borrower.borrowed = Math.max(0, loan.borrower.borrowed - loan.amount);
    removeAt(this.#loans, index);
    this.#freeLoans.push(loan);
  }

  /** Call it before another allocation changes the loans of this one. */
  #markChanged(allocation: Allocation<Owner>): void {
    if (allocation.changed) return;
    allocation.changed = true;
    allocation.known = allocation.granted;
    this.#changed.push(allocation);
  }
}
