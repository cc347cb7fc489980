import type { AgentRight } from '../../core/options/agents.ts'
import type { Role, SignInKind } from '../../core/options/sign-in.ts'

/** The person or program that sent a request. */
export interface Caller {
  /** As the audit log has it. The name of a person ends with the kind of the sign-in, so no token has the same name. */
  readonly name: string
  readonly role: Role
  readonly kind: SignInKind
  /** When the session ends; undefined without one. Streams end with it. */
  readonly endsAt?: number | undefined
  /** Whether the token is for agents, and works at `/mcp` only. */
  readonly agentOnly?: boolean | undefined
  /** The rights of an agent; undefined for people and programs. An agent never has more than its token. */
  readonly agent?: ReadonlySet<AgentRight> | undefined
}

const MAX_NAME = 200
/** Characters that a reader of the audit log would not see, or that would change the order of others. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** A name that another system gives a person; undefined if the audit log cannot show it as it is. */
export function personName(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined
  const name = given.trim()
  return name === '' || name.length > MAX_NAME || INVISIBLE.test(name) ? undefined : name
}

export function personCaller(kind: 'oidc' | 'proxy', name: string, role: Role, endsAt?: number): Caller {
  return { name: `${name} (${kind})`, role, kind, endsAt }
}
