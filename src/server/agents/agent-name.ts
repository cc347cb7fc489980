import { AGENT_PREFIX } from '../../core/options/agents.ts'

const MAX_NAME = 40

/**
 * The name of an agent in the audit log. The client gives the name itself, so it is untrusted: only plain characters stay,
 * and no spaces, so that it can neither imitate another name nor the words around it.
 */
export function agentActor(given: unknown, tokenName: string): string {
  const text = typeof given === 'string' ? given.slice(0, MAX_NAME) : ''
  const name = text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^-+|-+$/g, '')
  return `${AGENT_PREFIX}${name || 'unknown'} for ${tokenName}`
}
