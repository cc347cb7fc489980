import { z } from 'zod'

export const User = z.object({
  userId: z.uuid(),
  email: z.email(),
  displayName: z.string().min(1).max(200),
  /** Counts the changes of one user, so that an older one never overwrites a newer. */
  version: z.int().min(1),
})
export const Deleted = User.pick({ userId: true })

export type User = z.infer<typeof User>
export type Deleted = z.infer<typeof Deleted>
