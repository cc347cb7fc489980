import { isHeld, type LetterState } from '../../core/dead-letter/state.ts'
import { countPurge, freezePurge } from '../../operations/purge.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Store } from '../../ports/store.ts'
import { counted, sizeText } from '../print/fields.ts'
import { type Check, failWith, ok, warn } from './check.ts'

/** What a store that lies in files may know about itself. A store that says nothing is asked nothing. */
interface KnowsItsUsage {
  usage(): Promise<{ readonly bytes: number; readonly files: number; readonly damaged: number }>
}

/** Whether its letters can be read, and whether something of it is damaged or waits for nobody. */
export async function checkLetters(store: Store): Promise<{ checks: Check[]; newestAt: number | undefined }> {
  try {
    const { count, byState, newestAt } = await store.deadLetters.stats()
    const held = Object.entries(byState).reduce(
      (sum, [state, n]) => sum + (isHeld(state as LetterState) ? n : 0),
      0,
    )
    await store.deadLetters.list({ limit: 10 })
    return {
      checks: [ok('letters', `${counted(count, 'dead letter')}, ${held} waiting for someone`)],
      newestAt,
    }
  } catch (error) {
    return { checks: [failWith('letters', error, 'see the message')], newestAt: undefined }
  }
}

export async function checkDamage({ deadLetters }: Store): Promise<Check[]> {
  const known = deadLetters as DeadLetterStore & Partial<KnowsItsUsage>
  if (known.usage === undefined) return []
  try {
    const { bytes, files, damaged } = await known.usage()
    const size = `${counted(files, 'file')} of ${sizeText(bytes)}`
    if (damaged === 0) return [ok('damage', `none found in ${size}`)]
    return [
      warn(
        'damage',
        `${counted(damaged, 'damaged place')} in ${size}; everything else is read`,
        'look after the disk; bring lost letters back from a copy with lazaret dlq import',
      ),
    ]
  } catch (error) {
    return [failWith('damage', error, 'see the message')]
  }
}

/** Looking at every letter is for stores in which that takes a moment. */
const MOST_LOOKED_AT = 20_000

export async function checkExpired(store: Store, now: number): Promise<Check[]> {
  try {
    if ((await store.deadLetters.stats()).count > MOST_LOOKED_AT) return []
    const counts = countPurge(await freezePurge(store, { filter: {}, isExpiredOnly: true, at: now }))
    const expired = [...counts.values()].reduce((sum, count) => sum + count, 0)
    if (expired === 0) return [ok('retention', 'no letter is past its time to live')]
    const found = `${counted(expired, 'letter')} past the time to live`
    return [warn('retention', found, 'lazaret dlq purge --expired')]
  } catch (error) {
    return [failWith('retention', error, 'see the message')]
  }
}
