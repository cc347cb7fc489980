import { useMutation, useQueryClient } from '@tanstack/react-query'
import { pathOf } from '../lib/paths.ts'
import { type ApiProblem, send, sendForLines } from './client.ts'
import type {
  BreakerBody,
  BulkBody,
  BulkDone,
  BulkLine,
  ChannelChange,
  CommandAnswer,
  CommandBody,
  DemoState,
  GroupDetail,
  GroupPatch,
  LetterDetail,
  PauseBody,
  PlanBody,
  Replay,
  ReplayVerb,
  RevealedLetter,
  SavedView,
  ViewBody,
  ViewDeleteBody,
} from './types.ts'

/** A change, after which everything on the screen is asked for again: what it touched, only the server knows. */
export function useChange<Given, Made>(change: (given: Given) => Promise<Made>) {
  const client = useQueryClient()
  return useMutation<Made, ApiProblem, Given>({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'preview' }),
  })
}

export const reveal = (id: string, reason: string) =>
  send<RevealedLetter>('POST', pathOf('dead-letters', id, 'reveal'), { reason })
export const discard = (id: string, reason: string) =>
  send<LetterDetail>('POST', pathOf('dead-letters', id, 'discard'), { reason })
export const reopen = (id: string, reason: string) =>
  send<LetterDetail>('POST', pathOf('dead-letters', id, 'reopen'), { reason })
/** An action on every letter that matches. */
export type BulkVerb = 'purge' | 'discard' | 'release' | 'assign' | 'export'

/** Resolves with undefined if the action was cancelled: then nobody reads its last line. */
export async function runBulk(
  verb: BulkVerb,
  body: BulkBody,
  onProgress: (done: number, text: string) => void,
  signal: AbortSignal,
): Promise<BulkDone | undefined> {
  let ended: BulkDone | undefined
  const onLine = (line: BulkLine) => {
    if ('done' in line) ended = line.done
    else if ('failed' in line) throw new Error(line.failed)
    else onProgress(line.deleted ?? line.changed ?? line.exported ?? 0, line.text ?? '')
  }
  try {
    await sendForLines<BulkLine>(`/dead-letters/${verb}`, body, onLine, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return ended
}

export const saveView = (body: ViewBody) => send<SavedView>('POST', '/views', body)
export const deleteView = (body: ViewDeleteBody) => send<ViewDeleteBody>('POST', '/views/delete', body)

export const triage = (id: string, patch: GroupPatch) =>
  send<GroupDetail>('PATCH', pathOf('groups', id), patch)

export const plan = (body: PlanBody) => send<Replay>('POST', '/replays', body)
export const changeReplay = (id: string, verb: ReplayVerb, reason: string) =>
  send<Replay>('POST', pathOf('replays', id, verb), reason === '' ? {} : { reason })

export const forceBreaker = (channel: string, body: BreakerBody) =>
  send<ChannelChange>('POST', pathOf('channels', channel, 'breaker'), body)
export const pauseConsumer = (channel: string, to: 'pause' | 'resume', body: PauseBody) =>
  send<ChannelChange>('POST', pathOf('channels', channel, to), body)

export const commandFleet = (body: CommandBody) => send<CommandAnswer>('POST', '/fleet/commands', body)

export const runDemoAction = (action: string) => send<DemoState>('POST', pathOf('demo', action), {})
