import { useMutation, useQueryClient } from '@tanstack/react-query'
import { pathOf } from '../lib/paths.ts'
import { ApiProblem, send, sendForLines } from './client.ts'
import type {
  BreakerBody,
  BulkBody,
  BulkDone,
  BulkLine,
  ChannelChange,
  CommandAnswer,
  CommandBody,
  DecidedLetter,
  DemoState,
  GroupDetail,
  GroupPatch,
  PauseBody,
  PlanBody,
  PlanProgress,
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
  send<DecidedLetter>('POST', pathOf('dead-letters', id, 'discard'), { reason })
export const reopen = (id: string, reason: string) =>
  send<DecidedLetter>('POST', pathOf('dead-letters', id, 'reopen'), { reason })
/** An action on every letter that matches. */
export type BulkVerb = 'purge' | 'discard' | 'release' | 'assign' | 'export'

/** Resolves with undefined if the action was cancelled: then nobody reads its last line. */
export async function runBulk(
  verb: BulkVerb,
  body: BulkBody,
  onProgress: (done: number, text: string) => void,
  signal: AbortSignal,
): Promise<BulkDone | undefined> {
  return await followLines<BulkDone, Extract<BulkLine, { readonly of: number }>>(
    `/dead-letters/${verb}`,
    body,
    ({ deleted, changed, exported, text }) => onProgress(deleted ?? changed ?? exported ?? 0, text ?? ''),
    signal,
  )
}

/** Work that has begun was answered with 200, so its last line says what a status would. */
const FAILED = { status: 422, title: 'Request cannot be carried out' }

/** Sends a request that is answered as JSON lines of progress, and resolves with its result, or with undefined if it was cancelled. */
async function followLines<Done, Progress>(
  path: string,
  body: object,
  onProgress: (line: Progress) => void,
  signal: AbortSignal,
): Promise<Done | undefined> {
  let ended: Done | undefined
  const onLine = (line: { readonly done?: Done; readonly failed?: string }) => {
    if (line.done !== undefined) ended = line.done
    else if (line.failed !== undefined) throw new ApiProblem({ ...FAILED, detail: line.failed })
    else onProgress(line as Progress)
  }
  try {
    await sendForLines(path, body, onLine, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return ended
}

export const saveView = (body: ViewBody) => send<SavedView>('POST', '/views', body)
export const deleteView = (body: ViewDeleteBody) => send<ViewDeleteBody>('POST', '/views/delete', body)

export const triage = (id: string, patch: GroupPatch) =>
  send<GroupDetail>('PATCH', pathOf('groups', id), patch)

/** Resolves with undefined if the plan was cancelled: then nothing is planned. */
export const plan = (body: PlanBody, onProgress: (line: PlanProgress) => void, signal: AbortSignal) =>
  followLines<Replay, PlanProgress>('/replays', body, onProgress, signal)
export const changeReplay = (id: string, verb: ReplayVerb, reason: string) =>
  send<Replay>('POST', pathOf('replays', id, verb), reason === '' ? {} : { reason })

export const forceBreaker = (channel: string, body: BreakerBody) =>
  send<ChannelChange>('POST', pathOf('channels', channel, 'breaker'), body)
export const pauseConsumer = (channel: string, to: 'pause' | 'resume', body: PauseBody) =>
  send<ChannelChange>('POST', pathOf('channels', channel, to), body)

export const commandFleet = (body: CommandBody) => send<CommandAnswer>('POST', '/fleet/commands', body)

export const runDemoAction = (action: string) => send<DemoState>('POST', pathOf('demo', action), {})
