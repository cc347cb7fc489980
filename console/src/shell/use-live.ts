import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { ServerEvent } from '../api/sse.ts'
import { followStream, type StreamState } from '../api/stream.ts'
import type { ChangeEvent, Overview, OverviewNumbers } from '../api/types.ts'
import { screenPath } from '../lib/base-path.ts'
import { every } from '../lib/browser-clock.ts'
import { RefreshQueue } from './refresh-queue.ts'

/** Without a stream the screen is asked for again at this pace. */
const POLL_MS = 15_000

/** Lists of letters ('pages') stay as they are under the reader's eyes; they say that there is more instead. */
const NOT_LIVE = new Set(['pages', 'preview', 'me'])

/** Keeps what is on the screen true: what the stream says has changed is asked for again, in batches. */
export function useLive(isOn: boolean): StreamState {
  const client = useQueryClient()
  const [state, setState] = useState<StreamState>('connecting')
  useEffect(() => {
    if (!isOn) return
    const queue = new RefreshQueue(topics => refresh(client, topics))
    let wasLost = false
    const stop = followStream({
      onState(next) {
        setState(next)
        if (next === 'lost') wasLost = true
        // Changes in the meantime were not sent.
        if (next === 'live' && wasLost) void refreshAll(client)
      },
      // The answer to who is asking shows the sign-in.
      onRefused: () => void client.invalidateQueries({ queryKey: ['me'] }),
      onEvent(event) {
        if (event.event === 'overview') keepNumbers(client, event)
        if (event.event === 'change') queue.add((JSON.parse(event.data) as ChangeEvent).topics)
      },
    })
    return () => {
      stop()
      queue.stop()
    }
  }, [client, isOn])
  useEffect(() => {
    if (!isOn || state === 'live') return
    return every(POLL_MS, () => void refreshAll(client))
  }, [client, isOn, state])
  return state
}

/** The small numbers come with the stream itself; the rest of the overview is asked for only where it is looked at. */
function refresh(client: QueryClient, topics: ReadonlySet<string>): Promise<void> {
  const isOnOverview = screenPath() === '/overview'
  return client.invalidateQueries({
    predicate: ({ queryKey: [first] }) =>
      topics.has(String(first)) || first === 'audit' || (first === 'overview' && isOnOverview),
  })
}

function refreshAll(client: QueryClient): Promise<void> {
  return client.invalidateQueries({
    // A list that could not be read has no reader whose place could move.
    predicate: ({ queryKey: [first], state }) => !NOT_LIVE.has(String(first)) || state.error !== null,
  })
}

function keepNumbers(client: QueryClient, event: ServerEvent): void {
  const numbers = JSON.parse(event.data) as OverviewNumbers
  client.setQueryData<Overview>(['overview'], known => known && { ...known, ...numbers })
}
