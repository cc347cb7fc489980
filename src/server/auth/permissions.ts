import { ProblemError } from '../problem.ts'
import { type Action, action, type Role } from '../schema/me.ts'
import type { Permission } from '../schema/replays.ts'
import type { Caller } from './caller.ts'
import { RANK } from './roles.ts'

/** Only admins may do what cannot be undone. */
const ADMIN_ONLY: ReadonlySet<Action> = new Set<Action>(['letters.purge'])

/** Decides which roles may run which actions. Every authenticated caller may read. */
export class Permissions {
  readonly #isReadOnly: boolean

  constructor(isReadOnly: boolean) {
    this.#isReadOnly = isReadOnly
  }

  of({ role }: Caller, wanted: Action): Permission {
    if (this.#isReadOnly)
      return {
        allowed: false,
        reason: 'This server is read-only. Use a server without readOnly, or the command line.',
      }
    const needed: Role = ADMIN_ONLY.has(wanted) ? 'admin' : 'operator'
    if (RANK[role] >= RANK[needed]) return { allowed: true }
    return { allowed: false, reason: `This action needs the role ${needed}. Your role is ${role}.` }
  }

  all(caller: Caller): Record<Action, Permission> {
    const entries = action.options.map(each => [each, this.of(caller, each)] as const)
    return Object.fromEntries(entries) as Record<Action, Permission>
  }

  require(caller: Caller, wanted: Action): void {
    const { allowed, reason } = this.of(caller, wanted)
    if (!allowed) throw new ProblemError('forbidden', reason ?? 'This is not allowed.')
  }
}
