/** Who attacks. `none` sends no token. */
export const ATTACK_ROLES = ['none', 'viewer', 'operator', 'admin'] as const
export type AttackRole = (typeof ATTACK_ROLES)[number]

/**
 * What each role may not do, stated apart from the server: a mistake in the permissions of the server must not be a mistake here.
 * - `everything`: all operations but the public ones answer 401.
 * - `changes`: all operations that name an action answer 403.
 * - a list: the operations with these actions answer 403.
 */
export const REFUSED: Readonly<Record<AttackRole, 'everything' | 'changes' | readonly string[]>> = {
  none: 'everything',
  viewer: 'changes',
  operator: ['letters.purge'],
  admin: [],
}

/** Roles through which nothing may change. */
export function isHarmless(role: AttackRole): boolean {
  return role === 'none' || role === 'viewer'
}
