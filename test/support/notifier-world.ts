import { memoryDeadLetters, memorySink } from '../../src/adapters/memory/index.ts'
import { type AlertDocument, alertOf } from '../../src/core/alert/document.ts'
import { failedEvent } from '../../src/core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { createNotifier, type NotifierOptions } from '../../src/integrations/notify/index.ts'
import type { Notice } from '../../src/ports/notifier.ts'
import { createFactory, type TestLetterInput } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

export const MINUTE = 60_000

/** The notice that a consumer gives of a letter. */
export function letterNotice(
  letter: DeadLetter,
  kind: 'dead_letter' | 'poison_quarantined' = 'dead_letter',
): Notice {
  return { kind, at: letter.updatedAt, failed: failedEvent(letter), letter }
}

/** A notifier on the memory adapters and a driven clock, with what its one target was told. */
export function notifierWorld(options: Partial<NotifierOptions> = {}) {
  const clock = (options.clock as FakeClock | undefined) ?? new FakeClock()
  const random = seededRandom(3)
  const sink = memorySink()
  const deadLetters = memoryDeadLetters()
  const make = createFactory({ clock, random })
  const notifier = createNotifier({
    to: { ops: sink },
    deadLetters,
    clock,
    random,
    ...options,
  } as NotifierOptions)
  return {
    clock,
    make,
    sink,
    notifier,
    deadLetters,
    alerts: () => alertsIn(sink),
    letters: async () => (await deadLetters.list()).letters,
    /** Tells of a dead letter. */
    lose: (input: TestLetterInput = {}, kind?: 'dead_letter' | 'poison_quarantined') =>
      notifier.notify(letterNotice(make.letter(input), kind)),
  }
}

export function alertsIn(sink: ReturnType<typeof memorySink>): readonly AlertDocument[] {
  return sink.events.map(event => alertOf(event)!)
}

export const told = (alerts: readonly AlertDocument[]) =>
  alerts.map(({ status, kind, newCount }) => `${status} ${kind} ${newCount}`)
