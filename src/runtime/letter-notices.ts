import { failedEvent } from '../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { LetterKept, Observer } from '../ports/observer.ts'
import { observe } from './observe.ts'

/** Telling people is not on the event's way: whether it works changes nothing for the event. Never rejects. */
export async function tellOfLetter(
  notifier: Notifier,
  letter: DeadLetter,
  observer: Observer,
): Promise<void> {
  const { channel, handler: name, updatedAt: at } = letter
  try {
    const kind = isPoison(letter) ? 'poison_quarantined' : 'dead_letter'
    await notifier.notify({ kind, at, failed: failedEvent(letter), letter })
  } catch (error) {
    if (observer.noticeFailed) observe(observer, 'noticeFailed', { channel, name, error })
  }
}

export function isPoison({ cycle: { reason } }: DeadLetter): boolean {
  return reason === 'poison' || reason === 'crash_loop'
}

/** Tells of every letter that was made durable, once: one that is saved again only says more. */
export function letterNotices(notifier: Notifier, observer: Observer): Observer {
  const tell = ({ letter, again }: LetterKept) => {
    if (!again) void tellOfLetter(notifier, letter, observer)
  }
  return { letterSaved: tell, letterSpilled: tell }
}
