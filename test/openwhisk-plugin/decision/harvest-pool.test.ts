import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { Allocation } from '../../../openwhisk-plugin/decision/allocation.js';
import { HarvestPool } from '../../../openwhisk-plugin/decision/harvest-pool.js';

test('what a lender leaves is lent, and comes back the moment it wants its share', (t) => {
  const pool = new HarvestPool(4, 0);
  const lender = new Allocation();
  const borrower = new Allocation();
  pool.begin(lender, 3, 1, 100);
  pool.begin(borrower, 1, 3, 50);
  // 4 - 1 - 1 = 2 free: all of it from the lender, as the user limits claim the whole host.
  t.is(borrower.granted, 3);
  t.is(lender.lent, 2);
  t.is(pool.free, 0);
  pool.restore(lender);
  t.is(lender.granted, 3);
  t.is(borrower.granted, 1);
  t.is(pool.nextChanged(), borrower);
  t.is(pool.nextChanged(), null);
});

test('at the end of a lender its loans are served from what it leaves, without a cut', (t) => {
  const pool = new HarvestPool(4, 0);
  const lender = new Allocation();
  const borrower = new Allocation();
  pool.begin(lender, 3, 1, 100);
  pool.begin(borrower, 1, 2, 50);
  pool.end(lender);
  t.is(borrower.granted, 2);
  t.is(pool.granted, 2);
  // No loan was cut.
  t.is(pool.nextChanged(), null);
});

test('unclaimed capacity is lent before a lender, then the lender that runs longest', (t) => {
  const pool = new HarvestPool(6, 0);
  const [early, late, borrower] = [new Allocation(), new Allocation(), new Allocation()];
  pool.begin(early, 2, 1, 10);
  pool.begin(late, 2, 1, 99);
  pool.begin(borrower, 1, 3, 50);
  // Unclaimed: 6 - 5 = 1; the other one from `late`.
  t.deepEqual([borrower.granted, early.lent, late.lent], [3, 0, 1]);
});

test('a new activation gets its user limit at once; the longest loans give way', (t) => {
  const pool = new HarvestPool(4, 0);
  const [short, long, fresh] = [new Allocation(), new Allocation(), new Allocation()];
  pool.begin(short, 1, 2, 10);
  pool.begin(long, 1, 2, 90);
  pool.begin(fresh, 1, 1, 50);
  t.deepEqual([short.granted, long.granted, fresh.granted], [2, 1, 1]);
});

test('the reserve is never lent, and user limits are granted even beyond the capacity', (t) => {
  const pool = new HarvestPool(2, 1);
  const [a, b] = [new Allocation(), new Allocation()];
  pool.begin(a, 2, 2, 0);
  pool.begin(b, 2, 4, 0);
  t.deepEqual([a.granted, b.granted, pool.borrowed], [2, 2, 0]);
});

test('an idle container has no claim', (t) => {
  const pool = new HarvestPool(4, 0);
  const allocation = new Allocation();
  pool.begin(allocation, 2, 2, 0);
  pool.end(allocation);
  pool.end(allocation);
  t.is(pool.free, 4);
  t.is(allocation.granted, 0);
});

test('freed CPU goes to unmet demand, the activation that ends first before others', (t) => {
  const pool = new HarvestPool(6, 0);
  const [first, late, early, met] = [
    new Allocation(),
    new Allocation(),
    new Allocation(),
    new Allocation(),
  ];
  pool.begin(late, 1, 3, 90);
  pool.begin(first, 1, 3, 70);
  pool.begin(met, 1, 1, 5);
  pool.begin(early, 1, 3, 80);
  // 6 - 4 own = 2: the late one has given way to all others' own, and the first one holds all that
  // is left.
  t.deepEqual([first.granted, late.granted, early.granted], [3, 1, 1]);
  pool.lendFree();
  t.is(pool.nextChanged(), late);
  t.is(pool.nextChanged(), null);
  pool.end(first);
  // 3 free: 2 for the early one, the last for the late one, nothing for who wants no more.
  pool.lendFree();
  t.deepEqual([early.granted, late.granted, met.granted], [3, 2, 1]);
  t.is(pool.nextChanged(), early);
  t.is(pool.nextChanged(), late);
  t.is(pool.nextChanged(), null);
  pool.resize(7, 0);
  pool.lendFree();
  t.is(late.granted, 3);
});

test('amounts below 5 % of the user limit are not lent until they add up', (t) => {
  const pool = new HarvestPool(2, 0);
  const allocation = new Allocation();
  pool.begin(allocation, 2, 3, 10);
  pool.resize(2.09, 0);
  pool.lendFree();
  t.is(allocation.granted, 2);
  pool.resize(2.11, 0);
  pool.lendFree();
  t.true(Math.abs(allocation.granted - 2.11) < 1e-9);
});

test('a loan that is cut and renewed at once is no change', (t) => {
  const pool = new HarvestPool(4, 0);
  const [lender, other, borrower] = [new Allocation(), new Allocation(), new Allocation()];
  pool.begin(lender, 2, 1, 50);
  pool.begin(other, 1, 1, 60);
  pool.begin(borrower, 1, 2, 40);
  pool.restore(lender);
  t.is(borrower.granted, 1);
  pool.end(other);
  pool.lendFree();
  t.is(borrower.granted, 2);
  t.is(pool.nextChanged(), null);
});

test('a holder that asked since its loan was cut is told when it is made good', (t) => {
  const pool = new HarvestPool(4, 0);
  const [borrower, other] = [new Allocation(), new Allocation()];
  pool.begin(borrower, 1, 2, 10);
  pool.begin(other, 3, 3, 20);
  pool.change(borrower, 2, 10);
  t.is(borrower.granted, 1);
  pool.end(other);
  pool.lendFree();
  t.is(borrower.granted, 2);
  t.is(pool.nextChanged(), borrower);
});

test('an allocation that asks for its user limit only gets no later loans', (t) => {
  for (const content of [
    (pool: HarvestPool, allocation: Allocation) => pool.change(allocation, 1, 10),
    (pool: HarvestPool, allocation: Allocation) => pool.begin(allocation, 1, 1, 10),
    (pool: HarvestPool, allocation: Allocation) => pool.end(allocation),
  ]) {
    const pool = new HarvestPool(1, 0);
    const allocation = new Allocation();
    pool.begin(allocation, 1, 2, 10);
    content(pool, allocation);
    pool.resize(4, 0);
    pool.lendFree();
    t.true(allocation.granted <= 1);
    t.is(pool.nextChanged(), null);
  }
});

const SLOTS = 8;
const step = fc.record({
  slot: fc.nat(SLOTS - 1),
  what: fc.constantFrom('begin', 'begin', 'begin', 'restore', 'end', 'change', 'resize'),
  demand: fc.double({ min: 0.05, max: 8, noNaN: true }),
  end: fc.nat(100),
  lendFree: fc.boolean(),
});

/**
 * What each holder believes to hold: it is told at its own calls, and by `nextChanged` of all that
 * others do.
 */
class Holders {
  readonly #pool: HarvestPool;
  readonly #known = new Map<Allocation, number>();

  constructor(pool: HarvestPool) {
    this.#pool = pool;
  }

  asked(allocation: Allocation): void {
    this.#known.set(allocation, allocation.granted);
  }

  tell(): void {
    for (
      let allocation = this.#pool.nextChanged();
      allocation !== null;
      allocation = this.#pool.nextChanged()
    )
      this.asked(allocation);
  }

  /** Of all active claims, how far the worst-informed one is off. */
  get error(): number {
    return Math.max(
      0,
      ...[...this.#known].map(([allocation, known]) =>
        allocation.active ? Math.abs(allocation.granted - known) : 0,
      ),
    );
  }
}

testProp(
  'it never lends more than is there, and never grants less than what a claim may have',
  [
    fc.array(fc.double({ min: 0.1, max: 2, noNaN: true }), { minLength: SLOTS, maxLength: SLOTS }),
    fc.array(step, { minLength: 1, maxLength: 120 }),
    fc.double({ min: 0, max: 2, noNaN: true }),
  ],
  (t, users, steps, reserve) => {
    // All user limits together fit: then grants must, at every step.
    const total = users.reduce((sum, user) => sum + user, 0);
    let capacity = total + reserve;
    const pool = new HarvestPool(capacity, reserve);
    const allocations = users.map(() => new Allocation());
    const holders = new Holders(pool);
    for (const { slot, what, demand, end, lendFree } of steps) {
      const allocation = allocations[slot] as Allocation;
      const user = users[slot] as number;
      if (what === 'begin') pool.begin(allocation, user, demand, end);
      else if (what === 'restore') pool.restore(allocation);
      else if (what === 'end') pool.end(allocation);
      else if (what === 'change') pool.change(allocation, demand, end);
      else {
        capacity = total + reserve + demand;
        pool.resize(capacity, reserve);
      }
      // A holder knows the result of its own request, unless the capacity changed.
      if (what !== 'resize') holders.asked(allocation);
      if (lendFree) {
        pool.lendFree();
        holders.tell();
        t.true(holders.error < 1e-4);
        // The unmet demand or the free amount is below 5 % of the user's limit.
        for (const each of allocations)
          t.true(!each.active || Math.min(each.shortfall, pool.free) < 0.05 * each.user + 1e-4);
      }
      let granted = 0;
      let borrowed = 0;
      let lent = 0;
      for (let i = 0; i < SLOTS; i++) {
        const each = allocations[i] as Allocation;
        granted += each.granted;
        borrowed += each.borrowed;
        lent += each.lent;
        t.true(each.own <= (users[i] as number) + 1e-9);
        t.true(each.borrowed >= 0 && each.lent >= 0);
        t.true(!each.active || each.lent <= each.user - each.own + 1e-4);
        t.true(each.granted <= each.demand + 1e-4);
      }
      t.true(granted <= capacity - reserve + 1e-4, `granted ${granted} of ${capacity - reserve}`);
      t.true(Math.abs(granted - pool.granted) < 1e-4);
      t.true(Math.abs(borrowed - pool.borrowed) < 1e-4);
      t.true(lent <= borrowed + 1e-4);
      if (what === 'restore' && allocation.active) t.true(allocation.granted >= user - 1e-9);
    }
  },
);

testProp(
  'overcommitted user limits: loans vanish before anyone is denied its own',
  [fc.array(step, { minLength: 1, maxLength: 80 })],
  (t, steps) => {
    const pool = new HarvestPool(4, 0);
    const allocations = Array.from({ length: SLOTS }, () => new Allocation());
    const holders = new Holders(pool);
    for (const { slot, what, demand, end, lendFree } of steps) {
      const allocation = allocations[slot] as Allocation;
      if (what === 'begin') pool.begin(allocation, 2, demand, end);
      else if (what === 'restore') pool.restore(allocation);
      else if (what === 'end') pool.end(allocation);
      else if (what === 'change') pool.change(allocation, demand, end);
      if (what !== 'resize') holders.asked(allocation);
      if (lendFree) {
        pool.lendFree();
        holders.tell();
        t.true(holders.error < 1e-4);
        for (const each of allocations)
          t.true(!each.active || Math.min(each.shortfall, pool.free) < 0.1 + 1e-4);
      }
      const own = allocations.reduce((sum, each) => sum + each.own, 0);
      t.true(pool.borrowed <= Math.max(0, 4 - own) + 1e-4);
    }
  },
);
