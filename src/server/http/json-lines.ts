import { withoutCredentials } from '../../core/options/show.ts'
import { problemOf } from '../problem.ts'

const JSON_LINES = 'application/x-ndjson'

/** Where long work writes its progress. */
interface LineWriter<L> {
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal
  send(line: L): void
  /** Resolves when the client has read the lines before. Work whose lines are large waits for it. */
  hasRoom(): Promise<void>
}

export function wantsLines(request: Request): boolean {
  return request.headers.get('accept')?.includes(JSON_LINES) ?? false
}

/**
 * Answers long work as JSON lines: its progress, then its result, or `failed` with the problem. A client that closes the connection
 * cancels the work.
 */
export function answerLines<L extends object>(
  { onError }: { onError(error: unknown): void },
  work: (to: LineWriter<L>) => Promise<void>,
): Response {
  const stop = new AbortController()
  const encoder = new TextEncoder()
  let room = Promise.withResolvers<void>()
  const lines = new ReadableStream<Uint8Array>({
    start(controller) {
      void answer(controller)
    },
    pull() {
      room.resolve()
    },
    cancel() {
      stop.abort()
      room.resolve()
    },
  })
  async function answer(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const send = (line: L | { readonly failed: string }) => {
      if (!stop.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
    }
    const hasRoom = async () => {
      await room.promise
      room = Promise.withResolvers()
    }
    try {
      await work({ signal: stop.signal, send, hasRoom })
    } catch (error) {
      const problem = problemOf(error)
      if (problem.kind === 'server-fault' && !stop.signal.aborted) onError(error)
      send({ failed: withoutCredentials(problem.message) })
    }
    if (!stop.signal.aborted) controller.close()
  }
  // A proxy that buffers the answer would hide the progress.
  return new Response(lines, { headers: { 'content-type': JSON_LINES, 'x-accel-buffering': 'no' } })
}
