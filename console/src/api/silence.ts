import { after, now } from '../lib/browser-clock.ts'

/** The stream has a heartbeat every 2 s. A server that is silent for longer than this hangs, or is gone. */
const SILENT_MS = 4_500

let heardAt = Number.NEGATIVE_INFINITY

/** Something came from the server: an answer, or a piece of the stream. */
export function heard(): void {
  heardAt = now()
}

/**
 * Calls back when nothing has come from the server for too long, counted from now on at the earliest. A slow answer of a
 * server whose stream goes on is not silence. The returned function ends the watch.
 */
export function onSilence(callback: () => void): () => void {
  let stop = () => {}
  const wait = (ms: number) => {
    stop = after(ms, () => {
      const leftMs = heardAt + SILENT_MS - now()
      if (leftMs > 0) wait(leftMs)
      else callback()
    })
  }
  wait(SILENT_MS)
  return () => stop()
}
