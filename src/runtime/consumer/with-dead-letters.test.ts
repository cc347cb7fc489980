import { describe, expect, it, vi } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { asJob, trackingScope } from '../dispatcher/track/tracking-mode.ts'
import { sleep } from '../sleep.ts'
import type { HandlerContext } from './handler-context.ts'
import { withDeadLetters } from './with-dead-letters.ts'

const quick = { attempts: 3, backoff: fixed({ delayMs: 100, jitter: 'none' }) }

interface Message {
  readonly id: string
  readonly body: string
}

function wrapped(handler: (message: Message) => Promise<string>, more = {}) {
  const clock = new FakeClock()
  const deadLetters = memoryDeadLetters()
  const safe = withDeadLetters(handler, {
    source: 'orders',
    name: 'mailer',
    deadLetters,
    retry: quick,
    clock,
    random: () => 0.5,
    describe: message => ({ id: message.id, payload: message.body }),
    ...more,
  })
  return { clock, deadLetters, safe }
}

describe('withDeadLetters', () => {
  it('P3: passes the message through and the result back', async () => {
    const { safe } = wrapped(async message => `handled ${message.body}`)
    await expect(safe({ id: 'm1', body: 'a' })).resolves.toBe('handled a')
    await safe.close()
  })

  it('E7: the handler runs in the async scope of its caller, at every attempt', async () => {
    const jobs: (string | undefined)[] = []
    const { safe, clock } = wrapped(async message => {
      jobs.push(trackingScope().job)
      if (jobs.length === 2) throw new Error('once more')
      return message.id
    })
    await safe({ id: 'm1', body: 'a' })
    const called = asJob('Nightly', () => safe({ id: 'm2', body: 'b' }))
    await clock.advance(1_000)
    await called
    expect(jobs).toEqual([undefined, 'Nightly', 'Nightly'])
    await safe.close()
  })

  it('P3: with a schema, what fits reaches the handler as the client gave it, and what does not is a letter', async () => {
    const validate = (value: unknown) =>
      value === 'bad' ? { issues: [{ message: 'no' }] } : { value: `${value}!` }
    const schema = { '~standard': { version: 1, vendor: 'test', validate } }
    const { safe, deadLetters } = wrapped(async message => `handled ${message.body}`, { schema })
    await expect(safe({ id: 'm1', body: 'a' })).resolves.toBe('handled a')
    await expect(safe({ id: 'm2', body: 'bad' })).resolves.toBeUndefined()
    expect((await deadLetters.list()).letters).toMatchObject([
      { event: { id: 'm2' }, cycle: { reason: 'schema' } },
    ])
    await safe.close()
  })

  it('P3: retries in process, then resolves with the message safe in a letter', async () => {
    let attempts = 0
    const { safe, clock, deadLetters } = wrapped(async () => {
      attempts++
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    })
    const ended = safe({ id: 'm1', body: 'a' })
    await clock.advance(1_000)
    await expect(ended).resolves.toBeUndefined()
    expect(attempts).toBe(3)
    expect((await deadLetters.list()).letters).toMatchObject([
      { channel: 'orders', handler: 'mailer', event: { id: 'm1', payload: 'a' }, cycle: { attemptCount: 3 } },
    ])
    await safe.close()
  })

  it('K10: rejects when no store took the letter, so that the client keeps the message', async () => {
    const { safe, clock, deadLetters } = wrapped(async () => {
      throw new PermanentError('no')
    })
    deadLetters.send = () => Promise.reject(new Error('store is down'))
    const ended = safe({ id: 'm1', body: 'a' }).catch((error: unknown) => error)
    await clock.advance(1_000)
    const closed = safe.close()
    await clock.advance(60_000)
    await closed
    expect(await ended).toMatchObject({ name: 'GivenBack' })
  })

  it('P3: warns once when the client retries too', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { safe } = wrapped(async () => 'ok', {
      describe: (message: Message) => ({ id: message.id, redelivered: 2 }),
    })
    await safe({ id: 'm1', body: 'a' })
    await safe({ id: 'm2', body: 'b' })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('retries them too'), {
      code: 'LAZARET_DOUBLE_RETRIES',
    })
    warn.mockRestore()
    await safe.close()
  })

  it('R8: passes a signal that aborts with the timeout, and never overlaps attempts', async () => {
    const clock = new FakeClock()
    const seen = { runs: 0, atOnce: 0, most: 0, aborted: 0 }
    const handler = async (message: Message, { signal }: HandlerContext) => {
      seen.runs++
      seen.most = Math.max(seen.most, ++seen.atOnce)
      signal.addEventListener('abort', () => seen.aborted++)
      await sleep(clock, 300)
      seen.atOnce--
      return message.body
    }
    const safe = withDeadLetters(handler, {
      source: 'orders',
      deadLetters: memoryDeadLetters(),
      retry: quick,
      timeoutMs: 200,
      clock,
      passContext: true,
      describe: (message: Message) => ({ id: message.id }),
    })
    const called = safe({ id: 'm1', body: 'a' })
    await clock.advance(10_000)
    expect(await called).toBe('a')
    expect(seen).toEqual({ runs: 1, atOnce: 0, most: 1, aborted: 1 })
    await safe.close()
  })

  it('P1: with leaveOpen the store stays open, and close still waits for running calls', async () => {
    const { safe, clock, deadLetters } = wrapped(() => new Promise<string>(() => {}), {
      leaveOpen: true,
      graceMs: 100,
    })
    const called = safe({ id: 'm1', body: 'a' }).catch((error: Error) => error.name)
    await clock.advance(0)
    const closed = safe.close()
    await clock.advance(60_000)
    await closed
    expect(await called).toBe('GivenBack')
    expect((await deadLetters.stats()).count).toBe(0)
  })
})
