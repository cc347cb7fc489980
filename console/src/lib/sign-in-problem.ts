import type { SignInProblem } from '../api/types.ts'

/** What the server puts behind the address of a page when a person comes back from the provider without a session. */
const NAME = '#sign-in-problem='

const WORDS: Readonly<Record<SignInProblem, string>> = {
  expired: 'The sign-in took too long, or began in another browser. Sign in again.',
  refused: 'The provider refused the sign-in. Sign in again, or ask the administrator of the provider.',
  unreachable:
    'The provider does not answer. Try again in a minute, or ask the administrator of this server.',
  clock: 'The clocks of the provider and of this server differ. Tell the administrator of this server.',
  failed:
    'The sign-in failed. Sign in again. If it fails again, tell the administrator: the server log has the reason.',
  'no-name': 'The provider does not tell this server your name. Tell the administrator of this server.',
  unverified: 'The provider has not verified your email. Verify it there, and sign in again.',
  'no-role': 'None of your groups has a role here. Ask the administrator of this server for one.',
}

/** The sentence for the problem in the hash of an address; undefined without one. */
export function problemIn(hash: string): string | undefined {
  const problem = hash.startsWith(NAME) ? hash.slice(NAME.length) : ''
  return Object.hasOwn(WORDS, problem) ? WORDS[problem as SignInProblem] : undefined
}
