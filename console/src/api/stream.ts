import { after } from '../lib/browser-clock.ts'
import { API } from './client.ts'
import { identityHeaders } from './identity.ts'
import { heard, onSilence } from './silence.ts'
import { EventReader, type ServerEvent } from './sse.ts'

export type StreamState = 'connecting' | 'live' | 'lost'

export interface StreamListener {
  onEvent(event: ServerEvent): void
  onState(state: StreamState): void
  /** The session has ended, or the token is not accepted any more. */
  onRefused(): void
}

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 8_000

/** Follows the server's stream and comes back by itself, each time a little later, until it is told to stop. */
export function followStream(listener: StreamListener): () => void {
  const stopping = new AbortController()
  let waitMs = FIRST_WAIT_MS
  let lastId: string | undefined
  let stopWaiting = () => {}

  async function run(): Promise<void> {
    try {
      await readStream(stopping.signal, lastId, {
        onOpen() {
          waitMs = FIRST_WAIT_MS
          listener.onState('live')
        },
        onRefused: () => listener.onRefused(),
        onEvent(event) {
          lastId = event.id
          listener.onEvent(event)
        },
      })
    } catch {
      // The reaction is the same for every kind of end: report it and reconnect.
    }
    if (stopping.signal.aborted) return
    listener.onState('lost')
    stopWaiting = after(waitMs, () => void run())
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
  }

  listener.onState('connecting')
  void run()
  return () => {
    stopping.abort()
    stopWaiting()
  }
}

async function readStream(
  signal: AbortSignal,
  lastId: string | undefined,
  on: { onOpen(): void; onRefused(): void; onEvent(event: ServerEvent): void },
): Promise<void> {
  // A server that hangs keeps the connection open and sends nothing.
  const silent = new AbortController()
  const stopWatch = onSilence(() => silent.abort())
  try {
    await readPieces(AbortSignal.any([signal, silent.signal]), lastId, on)
  } finally {
    stopWatch()
    silent.abort()
  }
}

async function readPieces(
  signal: AbortSignal,
  lastId: string | undefined,
  on: { onOpen(): void; onRefused(): void; onEvent(event: ServerEvent): void },
): Promise<void> {
  const response = await fetch(`${API}/stream`, {
    headers: {
      accept: 'text/event-stream',
      ...identityHeaders(),
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
    signal,
  })
  heard()
  if (response.status === 401) on.onRefused()
  if (!response.ok || response.body === null) throw new Error(`stream: ${response.status}`)
  on.onOpen()
  const reader = new EventReader()
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await pieces.read()
    if (done) return
    heard()
    for (const event of reader.read(value)) on.onEvent(event)
  }
}
