import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { pathOf } from '../lib/paths.ts'
import type { BulkVerb } from './actions.ts'
import { get, type Query, send } from './client.ts'
import type {
  AuditPage,
  BulkPreview,
  BulkPreviewBody,
  ChannelInstances,
  ChannelList,
  ChannelTrend,
  CommandRequestView,
  DemoState,
  Findings,
  FleetList,
  FleetServices,
  GroupDetail,
  GroupDifferences,
  GroupPage,
  GroupTimeline,
  ItemPage,
  LetterDetail,
  LetterPage,
  LetterStats,
  MaskList,
  Me,
  Overview,
  Preview,
  PreviewBody,
  Replay,
  ReplayList,
  SignIn,
  ViewList,
} from './types.ts'

// A key begins with the topic that the live stream names when it has to be asked for again.

function useGet<T>(key: readonly unknown[], path: string, query: Query = {}, enabled = true) {
  return useQuery({
    queryKey: [...key, query],
    queryFn: ({ signal }) => get<T>(path, query, signal),
    placeholderData: keepPreviousData,
    enabled,
  })
}

export const useMe = () => useGet<Me>(['me'], '/me')
/** How people can sign in to this server. */
export const useSignIn = () => useGet<SignIn>(['sign-in'], '/sign-in')
export const useOverview = () =>
  useQuery({ queryKey: ['overview'], queryFn: ({ signal }) => get<Overview>('/overview', {}, signal) })
export const useChannels = () => useGet<ChannelList>(['channels'], '/channels')
/** Asked for again with the next snapshot, and not each time something else of the channel changes. */
export const useChannelTrend = (channel: string, snapshotAt: string) =>
  useGet<ChannelTrend>(['trends', channel, snapshotAt], pathOf('channels', channel, 'trend'))
export const useDemo = (isDemo: boolean) => useGet<DemoState>(['demo'], '/demo', {}, isDemo)

export const useGroups = (query: Query) => useGet<GroupPage>(['groups', 'list'], '/groups', query)
export const useLetterPage = (query: Query) => useGet<LetterPage>(['pages'], '/dead-letters', query)
export const useLetterStats = (query: Query, enabled = true) =>
  useGet<LetterStats>(['letters', 'stats'], '/dead-letters/stats', query, enabled)
export const useMasks = () => useGet<MaskList>(['masks'], '/masks')
export const useViews = () => useGet<ViewList>(['views'], '/views')
export const useReplays = (query: Query) => useGet<ReplayList>(['replays', 'list'], '/replays', query)
export const useAudit = (query: Query) => useGet<AuditPage>(['audit'], '/audit', query)

// Processes report and answer to the store, which the live stream does not follow, so these are polled.

const FLEET_EVERY_MS = 3_000
const OUTCOMES_EVERY_MS = 1_000
const TIMELINE_EVERY_MS = 60_000
const INSTANCES_ON_PAGE = 20

function usePolled<T>(key: readonly unknown[], path: string, query: Query, everyMs = FLEET_EVERY_MS) {
  return useQuery({
    queryKey: [...key, query],
    queryFn: ({ signal }) => get<T>(path, query, signal),
    refetchInterval: everyMs,
  })
}

export const useServices = (query: Query) =>
  usePolled<FleetServices>(['fleet', 'services'], '/fleet/services', query)
export const useInstances = (query: Query) =>
  usePolled<FleetList>(['fleet'], '/fleet', { ...query, limit: INSTANCES_ON_PAGE })

/** The living processes that consume a channel. */
export const useChannelInstances = (channel: string, query: Query) =>
  usePolled<ChannelInstances>(['fleet', 'channel', channel], pathOf('channels', channel, 'instances'), {
    ...query,
    limit: INSTANCES_ON_PAGE,
  })

/** The commands of a request, until each of them has ended. */
export const useCommandRequest = (id: string) =>
  useQuery({
    queryKey: ['commands', id],
    queryFn: ({ signal }) => get<CommandRequestView>(pathOf('fleet', 'commands', id), {}, signal),
    refetchInterval: ({ state: { data } }) =>
      data?.commands.every(({ state }) => state !== 'waiting' && state !== 'claimed') === true
        ? false
        : OUTCOMES_EVERY_MS,
  })

// What belongs to one thing is never shown in the place of another, not even while that is on its way.

function useOne<T>(key: readonly unknown[], path: string, query: Query = {}) {
  return useQuery({ queryKey: [...key, query], queryFn: ({ signal }) => get<T>(path, query, signal) })
}

export const useGroup = (id: string) => useOne<GroupDetail>(['groups', id], pathOf('groups', id))
export const useLetter = (id: string) => useOne<LetterDetail>(['letters', id], pathOf('dead-letters', id))
/** It reads many letters, so a change of the group does not ask for it again. */
export const useGroupTimeline = (id: string) =>
  usePolled<GroupTimeline>(['timelines', id], pathOf('groups', id, 'timeline'), {}, TIMELINE_EVERY_MS)
export const useGroupDifferences = (id: string) =>
  usePolled<GroupDifferences>(['differences', id], pathOf('groups', id, 'differences'), {}, TIMELINE_EVERY_MS)
export const useReplay = (id: string) => useOne<Replay>(['replays', id], pathOf('replays', id))
export const useFindings = (id: string) =>
  useOne<Findings>(['replays', id, 'findings'], pathOf('replays', id, 'findings'))
export const useReplayItems = (id: string, query: Query) =>
  useGet<ItemPage>(['replays', id, 'items'], pathOf('replays', id, 'items'), query)

/** The same letters before and after a patch; asked again only when what is asked for changes. */
export function usePreview(body: PreviewBody, enabled: boolean) {
  return useQuery({
    queryKey: ['preview', body],
    queryFn: () => send<Preview>('POST', '/replays/preview', body),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
}

/** The letters that an action would work on. Each dialog asks again: the server refuses an older answer. */
export function useBulkPreview(verb: BulkVerb, body: BulkPreviewBody) {
  return useQuery({
    queryKey: ['preview', verb, body],
    queryFn: () => send<BulkPreview>('POST', `/dead-letters/${verb}/preview`, body),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
}
