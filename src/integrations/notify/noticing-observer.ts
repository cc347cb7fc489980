import type { Clock } from '../../ports/clock.ts'
import type { Notice } from '../../ports/notifier.ts'
import type { Observer } from '../../ports/observer.ts'

/** Turns observations that the runtime does not send to its notifier into notices: a failing dependency or store. */
export function noticingObserver(notify: (notice: Notice) => void, clock: Clock): Observer {
  // `letterWriteFailed` comes right before `letterSpilled`, and only it has the error.
  let error = 'no reason given'
  return {
    breakerChanged({ name, to, at }) {
      if (to === 'open') notify({ kind: 'breaker_opened', name, at })
      else if (to === 'closed') notify({ kind: 'breaker_closed', name, at })
    },
    letterWriteFailed(failed) {
      error = messageOf(failed.error)
    },
    letterSpilled() {
      notify({ kind: 'letters_spilled', error, at: clock.now() })
    },
    spillDrained({ count, left }) {
      if (left === undefined) notify({ kind: 'spill_drained', count, at: clock.now() })
    },
    spillDrainFailed(failed) {
      notify({ kind: 'letters_spilled', error: messageOf(failed.error), at: clock.now() })
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
