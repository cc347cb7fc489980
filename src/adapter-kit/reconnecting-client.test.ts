import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { ReconnectingClient } from './reconnecting-client.ts'

type Connection = { readonly id: number; lost(error: Error): void }

/** A server that can be switched off. */
function server() {
  const clock = new FakeClock()
  const discarded: number[] = []
  const opened: Connection[] = []
  let refusal: Error | undefined
  const link = new ReconnectingClient<Connection>({
    clock,
    random: () => 1,
    baseMs: 100,
    maxMs: 1_000,
    async open(lost) {
      if (refusal !== undefined) throw refusal
      const connection = { id: opened.length + 1, lost }
      opened.push(connection)
      return connection
    },
    discard: ({ id }) => void discarded.push(id),
    isPermanent: (error, wasUp) => !wasUp && error.message === 'wrong password',
  })
  const refuse = (error: Error | undefined) => (refusal = error)
  const next = (isHasty = false) =>
    new Promise<Connection | undefined>(resolve => link.onNext(resolve, isHasty))
  return { clock, link, opened, discarded, refuse, next }
}

describe('ReconnectingClient (S4)', () => {
  it('connects when it is first asked, and not before', async () => {
    const { clock, opened, next } = server()
    await clock.advance(1_000)
    expect(opened).toEqual([])
    expect(await next()).toMatchObject({ id: 1 })
  })

  it('replaces a lost connection, with growing pauses while the server is away', async () => {
    const { clock, link, opened, refuse, next } = server()
    await next()
    refuse(new Error('connection refused'))
    opened[0]!.lost(new Error('broken pipe'))
    expect([link.current, link.isLost, link.problem.message]).toEqual([undefined, true, 'broken pipe'])
    const waiting = next()
    await clock.advance(100)
    expect(link.problem.message).toBe('connection refused')
    refuse(undefined)
    await clock.advance(199)
    expect(link.current).toBeUndefined()
    await clock.advance(1)
    expect(await waiting).toMatchObject({ id: 2 })
  })

  it('rejects a caller that does not wait at the first failure, and the other callers at a permanent one', async () => {
    const { link, refuse, next } = server()
    refuse(new Error('connection refused'))
    const patient = next()
    expect(await next(true)).toBeUndefined()
    link.close()
    expect(await patient).toBeUndefined()
    const other = server()
    other.refuse(new Error('wrong password'))
    expect(await other.next()).toBeUndefined()
    other.refuse(undefined)
    expect(await other.next()).toMatchObject({ id: 1 })
  })

  it('discards a connection that is dropped, or that comes after close', async () => {
    const { clock, link, discarded, opened, next } = server()
    link.drop((await next())!, new Error('silent'))
    expect(discarded).toEqual([1])
    await clock.advance(99)
    const late = next()
    await Promise.resolve()
    const passing = clock.advance(1)
    link.close()
    await passing
    expect(await late).toBeUndefined()
    await clock.advance(1_000)
    expect(discarded).toEqual(opened.map(({ id }) => id))
  })
})
