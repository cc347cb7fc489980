import { failedEvent } from '../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { type Clock, within } from '../ports/clock.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { LetterKept, Observer } from '../ports/observer.ts'
import { TimeoutError } from './attempt/attempt.ts'
import { observe } from './observe.ts'
import type { UserFaults } from './user-functions/user-faults.ts'

/** A notifier that has not answered after so long is not waited for, and the notice counts as failed. */
const NOTICE_TIMEOUT_MS = 30_000

/** Whom a failed notice is told to. */
interface NoticeSetup {
  readonly observer: Observer
  readonly clock: Clock
  readonly faults: UserFaults
}

/** Telling people is not on the event's way: whether it works changes nothing for the event. Never rejects. */
export async function tellOfLetter(
  notifier: Notifier,
  letter: DeadLetter,
  { observer, clock, faults }: NoticeSetup,
): Promise<void> {
  const { channel, handler: name, updatedAt: at } = letter
  try {
    const kind = isPoison(letter) ? 'poison_quarantined' : 'dead_letter'
    const told = Promise.resolve(notifier.notify({ kind, at, failed: failedEvent(letter), letter }))
    if (!(await within(clock, NOTICE_TIMEOUT_MS, told))) throw new TimeoutError('notifier', NOTICE_TIMEOUT_MS)
    await told
  } catch (error) {
    faults.report('notifier', error)
    observe(observer, 'noticeFailed', { channel, name, error })
  }
}

export function isPoison({ cycle: { reason } }: DeadLetter): boolean {
  return reason === 'poison' || reason === 'crash_loop'
}

/** Tells of every letter that was made durable, once: one that is saved again only says more. */
export function letterNotices(notifier: Notifier, setup: NoticeSetup): Observer {
  const tell = ({ letter, again }: LetterKept) => {
    if (!again) void tellOfLetter(notifier, letter, setup)
  }
  return { letterSaved: tell, letterSpilled: tell }
}
