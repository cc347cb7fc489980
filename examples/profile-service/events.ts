import { type LazaretEvent, PermanentError } from 'lazaret'
import { z } from 'zod'
import type { Profiles } from './profiles.ts'

const User = z.object({
  userId: z.uuid(),
  email: z.email(),
  displayName: z.string().min(1).max(200),
  /** Counts the changes of one user, so that an older one never overwrites a newer. */
  version: z.int().min(1),
})
const Deleted = User.pick({ userId: true })

export type User = z.infer<typeof User>
export type Deleted = z.infer<typeof Deleted>

/**
 * What one event does. Throwing is all it takes: a payload that does not fit is permanent and goes to the dead letters
 * at once, a database that is away is transient, waits, and opens the breaker.
 */
export async function handle({ type, payload }: LazaretEvent, profiles: Profiles): Promise<void> {
  switch (type) {
    case 'user.registered':
      return await profiles.registered(User.parse(payload))
    case 'user.updated':
      return await profiles.updated(User.parse(payload))
    case 'user.deleted':
      return await profiles.deleted(Deleted.parse(payload))
    default:
      throw new PermanentError(`no such type of event here: ${type}`, { category: 'schema' })
  }
}
