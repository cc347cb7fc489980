import { HOSTS_NEED_TOKENS, isLoopback } from './loopback.ts'
import { group } from './resolve.ts'
import { custom, oneOf, text } from './rules.ts'

// The server and its config file accept the same tokens by the same rules, so both state them here.

const SHA256 = /^[\dA-Fa-f]{64}$/

/** A token of the server. Faults of the config never show the hash, because an attacker could test tokens against it. */
export const tokenRule = group({
  name: text({ maxLength: 100 }),
  role: oneOf('viewer', 'operator', 'admin'),
  sha256: custom(
    (value): value is string => typeof value === 'string' && SHA256.test(value),
    'give the SHA-256 of the token in hex; `printf %s TOKEN | sha256sum` prints it',
    { kind: 'text', pattern: SHA256 },
  ),
})

interface AccessOptions {
  readonly tokens?: readonly { readonly name: string }[] | undefined
  readonly needsApproval?: boolean | undefined
  readonly allowedHosts?: readonly string[] | undefined
}

/** Checks the relations between tokens, approval and host names. */
export function checkAccess(
  { tokens = [], needsApproval, allowedHosts = [] }: AccessOptions,
  fault: (field: keyof AccessOptions, remedy: string) => void,
): void {
  if (tokens.length === 0 && !allowedHosts.every(isLoopback)) fault('allowedHosts', HOSTS_NEED_TOKENS)
  if (new Set(tokens.map(({ name }) => name)).size < tokens.length)
    fault('tokens', 'give each token a unique name')
  if (needsApproval === true && tokens.length < 2)
    fault('needsApproval', 'give at least two tokens, because a second person has to approve')
}
