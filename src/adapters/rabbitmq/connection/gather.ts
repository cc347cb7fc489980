import { nextTick } from 'node:process'

/** What is used of a socket. */
interface Stream {
  write(...args: readonly unknown[]): boolean
  cork(): void
  uncork(): void
}

/**
 * Has what is written in one go leave in one go. The client writes every frame by itself, and a call to the system for each
 * costs more than all the rest of sending a small message, here and at the server. A connection that does not show
 * its stream stays as it is.
 */
export function gatherWrites(connection: unknown): void {
  const stream = (connection as { connection?: { stream?: Partial<Stream> } }).connection?.stream
  if (!isStream(stream)) return
  const write = stream.write.bind(stream)
  let isGathering = false
  const letGo = () => {
    isGathering = false
    stream.uncork()
  }
  stream.write = (...args) => {
    if (!isGathering) {
      isGathering = true
      stream.cork()
      nextTick(letGo)
    }
    return write(...args)
  }
}

function isStream(value: Partial<Stream> | undefined): value is Stream {
  return [value?.write, value?.cork, value?.uncork].every(method => typeof method === 'function')
}
