import { AGENT_PREFIX } from './agents.ts'
import { HOSTS_NEED_TOKENS, isLoopback } from './loopback.ts'
import { group } from './resolve.ts'
import { custom, flag, optional, text } from './rules.ts'
import { pathOfUrl, roleRule } from './sign-in.ts'

// The server and its config file accept the same tokens by the same rules, so both state them here.

const SHA256 = /^[\dA-Fa-f]{64}$/

/** A token of the server. Faults of the config never show the hash, because an attacker could test tokens against it. */
export const tokenRule = group({
  name: text({ maxLength: 100 }),
  role: roleRule,
  sha256: custom(
    (value): value is string => typeof value === 'string' && SHA256.test(value),
    'give the SHA-256 of the token in hex; `printf %s TOKEN | sha256sum` prints it',
    { kind: 'text', pattern: SHA256 },
  ),
  agentOnly: optional(flag()),
})

interface AccessOptions {
  readonly tokens?: readonly { readonly name: string }[] | undefined
  readonly signIn?: { readonly publicUrl: string } | undefined
  readonly basePath?: string | undefined
  readonly needsApproval?: boolean | undefined
  readonly allowedHosts?: readonly string[] | undefined
}

/** Checks the relations between tokens, sign-in, approval and host names. */
export function checkAccess(
  { tokens = [], signIn, basePath, needsApproval, allowedHosts = [] }: AccessOptions,
  fault: (field: keyof AccessOptions, remedy: string) => void,
): void {
  const isOpen = tokens.length === 0 && signIn === undefined
  if (isOpen && !allowedHosts.every(isLoopback)) fault('allowedHosts', HOSTS_NEED_TOKENS)
  if (new Set(tokens.map(({ name }) => name)).size < tokens.length)
    fault('tokens', 'give each token a unique name')
  if (tokens.some(({ name }) => name.startsWith(AGENT_PREFIX)))
    fault(
      'tokens',
      `give names that do not begin with '${AGENT_PREFIX}', because the audit log marks agents with it`,
    )
  if (needsApproval === true && tokens.length < 2 && signIn === undefined)
    fault('needsApproval', 'give at least two tokens, or signIn, because a second person has to approve')
  const path = signIn === undefined ? '' : pathOfUrl(signIn.publicUrl)
  // A flag of the command line may give the path later.
  if (path !== '' && basePath !== undefined && path !== basePath)
    fault('signIn', `give a publicUrl whose path is that of basePath, '${basePath || '/'}', not '${path}'`)
}
