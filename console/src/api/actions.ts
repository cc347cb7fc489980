import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ApiProblem, send } from './client.ts'
import type {
  BreakerBody,
  DemoState,
  GroupDetail,
  GroupPatch,
  LetterDetail,
  PauseBody,
  PlanBody,
  PurgeBody,
  Purged,
  Replay,
  ReplayVerb,
  RevealedLetter,
} from './types.ts'

/** A change, after which everything on the screen is asked for again: what it touched, only the server knows. */
export function useChange<Given, Made>(change: (given: Given) => Promise<Made>) {
  const client = useQueryClient()
  return useMutation<Made, ApiProblem, Given>({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'preview' }),
  })
}

const at = (...parts: string[]) => parts.map(part => `/${encodeURIComponent(part)}`).join('')

export const reveal = (id: string, reason: string) =>
  send<RevealedLetter>('POST', at('dead-letters', id, 'reveal'), { reason })
export const discard = (id: string, reason: string) =>
  send<LetterDetail>('POST', at('dead-letters', id, 'discard'), { reason })
export const reopen = (id: string, reason: string) =>
  send<LetterDetail>('POST', at('dead-letters', id, 'reopen'), { reason })
export const purge = (body: PurgeBody) => send<Purged>('POST', '/dead-letters/purge', body)

export const triage = (id: string, patch: GroupPatch) => send<GroupDetail>('PATCH', at('groups', id), patch)

export const plan = (body: PlanBody) => send<Replay>('POST', '/replays', body)
export const steer = (id: string, verb: ReplayVerb, why: string) =>
  send<Replay>('POST', at('replays', id, verb), why === '' ? {} : { why })

export const forceBreaker = (channel: string, body: BreakerBody) =>
  send<unknown>('POST', at('channels', channel, 'breaker'), body)
export const pauseConsumer = (channel: string, to: 'pause' | 'resume', body: PauseBody) =>
  send<unknown>('POST', at('channels', channel, to), body)

export const actInDemo = (action: string) => send<DemoState>('POST', at('demo', action), {})
