import assert from 'node:assert/strict'
import type { Claim, Ledger } from '../../ports/ledger.ts'
import { type Fixture, type TestFunction, testsIn, uniqueName, unlessDeclared, World } from './harness.ts'

/** What an adapter gives the suite for each test. */
export interface LedgerFixture extends Fixture<Ledger> {
  readonly ledger: Ledger
}

/** What `ledgerConformance()` needs to test a ledger. */
export interface LedgerConformance {
  readonly test: TestFunction
  readonly setup: () => Promise<LedgerFixture>
  readonly declares: {
    /** Completed pairs survive the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
  }
}

const LONG_MS = 3_600_000

/** One test's view of a ledger: pairs that no other test uses. */
class LedgerWorld extends World<Ledger, LedgerFixture> {
  readonly handler = uniqueName('bill')

  get ledger(): Ledger {
    return this.port
  }

  claim(key: string, leaseMs = LONG_MS): Promise<Claim> {
    return this.ledger.claim(this.handler, key, leaseMs)
  }

  async claimed(key: string, leaseMs = LONG_MS): Promise<string> {
    const claim = await this.claim(key, leaseMs)
    assert(claim.kind === 'claimed', `the claim of ${key} is ${claim.kind}`)
    return claim.token
  }

  /** Claims with a lease that then expires. */
  async claimedTooShort(key: string): Promise<string> {
    const token = await this.claimed(key, this.timing.delayMs)
    await this.timing.pass(this.timing.delayMs + 1)
    return token
  }

  /** The answers of renew, release and complete for this token. */
  async powersOf(key: string, token: string): Promise<boolean[]> {
    const { ledger, handler } = this
    return [
      await ledger.renew(handler, key, token, LONG_MS),
      await ledger.release(handler, key, token),
      await ledger.complete(handler, key, token),
    ]
  }
}

/** Every sentence of the ledger port's contract, as tests. */
export function ledgerConformance({ test, setup, declares }: LedgerConformance): void {
  const open = async () => {
    const fixture = await setup()
    return new LedgerWorld(fixture, fixture.ledger)
  }
  const it = testsIn(test, open)
  const itDurable = testsIn(test, open, unlessDeclared(declares, 'durable'))

  it('S8: a new pair is claimed; other claims get busy and the end of the lease', async world => {
    const before = world.timing.now()
    await world.claimed('charge-1', LONG_MS)
    const second = await world.claim('charge-1')
    assert(second.kind === 'busy')
    assert(second.until >= before + LONG_MS && second.until <= world.timing.now() + LONG_MS)
  })

  it('S8: handler and key form a pair, and pairs with the same concatenation differ', async ({
    ledger,
    handler,
  }) => {
    const pairs = [
      [handler, 'a:b'],
      [handler, 'a'],
      [`${handler}:a`, 'b'],
      [`${handler}2`, 'a'],
    ] as const
    for (const [name, key] of pairs) assert.equal((await ledger.claim(name, key, LONG_MS)).kind, 'claimed')
  })

  it('S8: of many concurrent claims exactly one gets the pair', async world => {
    const claims = await Promise.all(Array.from({ length: 50 }, () => world.claim('charge-1')))
    assert.equal(claims.filter(claim => claim.kind === 'claimed').length, 1)
    assert.equal(claims.filter(claim => claim.kind === 'busy').length, 49)
  })

  it('S8: a completed pair is done for every claim, with its time, and its token is invalid', async world => {
    const token = await world.claimed('charge-1')
    const before = world.timing.now()
    assert.equal(await world.ledger.complete(world.handler, 'charge-1', token), true)
    const claim = await world.claim('charge-1')
    assert(claim.kind === 'done')
    assert(claim.at >= before && claim.at <= world.timing.now())
    assert.deepEqual(await world.powersOf('charge-1', token), [false, false, false])
    assert.equal((await world.claim('charge-1')).kind, 'done')
  })

  it('S8: a released pair can be claimed at once', async world => {
    const token = await world.claimed('charge-1')
    assert.equal(await world.ledger.release(world.handler, 'charge-1', token), true)
    assert.notEqual(await world.claimed('charge-1'), token)
  })

  it('S8: another token cannot change a lease', async world => {
    const token = await world.claimed('charge-1')
    const other = await world.claimed('charge-2')
    assert.deepEqual(await world.powersOf('charge-1', other), [false, false, false])
    assert.equal((await world.claim('charge-1')).kind, 'busy')
    assert.equal(await world.ledger.complete(world.handler, 'charge-1', token), true)
  })

  it('S8: no token can change an unclaimed pair', async world => {
    assert.deepEqual(await world.powersOf('charge-1', 'no-such-token'), [false, false, false])
    await world.claimed('charge-1')
  })

  it('S8: an expired lease can be claimed again, and then the old token is not valid any more', async world => {
    const old = await world.claimedTooShort('charge-1')
    const token = await world.claimed('charge-1')
    assert.notEqual(token, old)
    assert.deepEqual(await world.powersOf('charge-1', old), [false, false, false])
    assert.equal((await world.claim('charge-1')).kind, 'busy', 'the new lease is untouched')
    assert.equal(await world.ledger.complete(world.handler, 'charge-1', token), true)
  })

  it('S8: of many concurrent claims of an expired lease exactly one gets it', async world => {
    await world.claimedTooShort('charge-1')
    const claims = await Promise.all(Array.from({ length: 20 }, () => world.claim('charge-1')))
    assert.equal(claims.filter(claim => claim.kind === 'claimed').length, 1)
  })

  it('S8: a renewed lease lasts longer', async world => {
    const { timing, ledger, handler } = world
    const token = await world.claimed('charge-1', timing.delayMs * 4)
    assert.equal(await ledger.renew(handler, 'charge-1', token, LONG_MS), true)
    await timing.pass(timing.delayMs * 4 + 1)
    assert.equal((await world.claim('charge-1')).kind, 'busy')
    assert.equal(await ledger.complete(handler, 'charge-1', token), true)
  })

  it('S8: forget makes a done pair claimable, keeps a lease, and accepts an unknown pair', async world => {
    const { ledger, handler } = world
    await ledger.complete(handler, 'charge-1', await world.claimed('charge-1'))
    await ledger.forget(handler, 'charge-1')
    const token = await world.claimed('charge-1')
    await ledger.forget(handler, 'charge-1')
    assert.equal((await world.claim('charge-1')).kind, 'busy')
    assert.equal(await ledger.complete(handler, 'charge-1', token), true)
    await ledger.forget(handler, 'no-such-key')
  })

  it('S8: closing twice is safe', async ({ ledger }) => {
    await ledger.close()
    await ledger.close()
  })

  itDurable('S8: a completed key stays completed after a restart, and a lease is still held', async world => {
    const { handler } = world
    await world.ledger.complete(handler, 'charge-1', await world.claimed('charge-1'))
    const token = await world.claimed('charge-2')
    await world.reopen()
    assert.equal((await world.claim('charge-1')).kind, 'done')
    assert.equal((await world.claim('charge-2')).kind, 'busy')
    assert.equal(await world.ledger.complete(handler, 'charge-2', token), true)
  })
}
