import { type LazaretEvent, PermanentError } from 'lazaret'
import type { Profiles } from './profiles.ts'
import { Deleted, User } from './user.ts'

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
