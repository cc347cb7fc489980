import { expect, it } from 'vitest'
import { MemoryLimit, memoryDeadLetters } from '../../../adapters/memory/index.ts'
import type { Journal } from '../../../ports/journal.ts'
import type { Observations, Observer } from '../../../ports/observer.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'
import { isOwnContext } from './own-context.ts'
import { asJob } from './tracking-mode.ts'

const refuse = () => Promise.reject(Object.assign(new Error('no'), { status: 400 }))

class AbsentKeeper extends MemoryLimit {
  override reserve = refuse
}

const brokenJournal: Journal = {
  append: refuse,
  remove: refuse,
  pending: async () => ({ entries: [], unreadable: [] }),
}

/** Answers to every name, and remembers whose context each was told in. */
function contexts() {
  const told = new Map<string, Set<'own' | "caller's">>()
  const observer = new Proxy({} as Observer, {
    get: (_, what: keyof Observations) => () => {
      told.set(what, (told.get(what) ?? new Set()).add(isOwnContext() ? 'own' : "caller's"))
    },
  })
  return { told, observer }
}

function setUp(options: Partial<DispatcherOptions>) {
  const deadLetters = memoryDeadLetters()
  const { told, observer } = contexts()
  const events = createDispatcher({
    sinks: { sink: { write: refuse } },
    deadLetters,
    breaker: 'off',
    observer,
    ...options,
  })
  return { told, events, deadLetters }
}

it('E21: all output of a dispatcher is marked as its own, no matter who tracks or replays', async () => {
  const { told, events, deadLetters } = setUp({
    critical: () => true,
    journal: brokenJournal,
    rateLimit: { perSecond: 1_000, shared: new AbsentKeeper() },
  })
  await asJob('SendEmailJob', () => events.track({ type: 'mail.sent' }))
  const [letter] = (await deadLetters.list()).letters
  await events.resend({ ...letter!, replays: 1 }).catch(() => {})
  await events.close()
  expect([...told.keys()]).toEqual(
    expect.arrayContaining(['trackedInJob', 'journalFailed', 'replayOutcome', 'sharedLimitChanged']),
  )
  expect([...told].filter(([, whose]) => whose.has("caller's"))).toEqual([])
})
