import type { AgentRight } from '../../core/options/agents.ts'
import type { Role } from '../../core/options/sign-in.ts'
import { ProblemError } from '../problem.ts'
import { type Action, action } from '../schema/me.ts'
import type { Permission } from '../schema/replays.ts'
import type { Caller } from './caller.ts'
import { RANK } from './roles.ts'

/** Only admins may do what cannot be undone. */
const ADMIN_ONLY: ReadonlySet<Action> = new Set<Action>(['letters.purge'])

/** Agents run no other actions, whatever the role of their token: they reveal, approve and purge nothing. */
const RIGHT_OF: Readonly<{ [A in Action]?: AgentRight }> = {
  'letter.discard': 'discard',
  'group.triage': 'triage',
  'replay.plan': 'replay',
  'replay.start': 'replay',
  'replay.pause': 'replay',
  'replay.cancel': 'replay',
}

/** Decides which roles may run which actions. Every authenticated caller may read. */
export class Permissions {
  readonly #isReadOnly: boolean

  constructor(isReadOnly: boolean) {
    this.#isReadOnly = isReadOnly
  }

  of({ role, agent }: Caller, wanted: Action): Permission {
    const refusal = agent && refusalOf(agent, wanted)
    if (refusal !== undefined) return { allowed: false, reason: refusal }
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

/** Why an agent may not run the action; undefined if its rights allow it. */
function refusalOf(rights: ReadonlySet<AgentRight>, wanted: Action): string | undefined {
  const right = RIGHT_OF[wanted]
  if (right === undefined)
    return 'Agents cannot do this. A person does it in the console or on the command line.'
  if (rights.has(right)) return undefined
  return `This needs the right ${right}. A person gives it: --allow ${right} of lazaret mcp, or agents.allow in the config of the server.`
}
