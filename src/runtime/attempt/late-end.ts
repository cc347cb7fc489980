import type { Clock } from '../../ports/clock.ts'
import type { Attempt } from './attempt.ts'

type LateEnd = 'succeeded' | 'failed' | 'running' | 'closing'

/** Waits for the end of a run that outlived its attempt, at most so long, and not beyond the end of whoever waits. */
export function lateEnd(
  attempt: Attempt,
  clock: Clock,
  lateMs: number,
  closing: AbortSignal,
): Promise<LateEnd> {
  return new Promise(resolve => {
    const end = (how: LateEnd) => {
      cancel()
      closing.removeEventListener('abort', onClosing)
      attempt.whenOver = undefined
      resolve(how)
    }
    const onClosing = () => end('closing')
    const cancel = clock.schedule(lateMs, () => end('running'))
    attempt.whenOver = ({ ok }) => end(ok ? 'succeeded' : 'failed')
    if (attempt.late !== undefined) end(attempt.late.ok ? 'succeeded' : 'failed')
    else if (closing.aborted) onClosing()
    else closing.addEventListener('abort', onClosing)
  })
}
