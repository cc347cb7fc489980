import type { Dispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import type { TrackInput } from '../../../runtime/dispatcher/track/track-input.ts'

/** Says that something happened, and goes on: whoever buys something does not wait for analytics, nor fail with it. */
export type Track = (input: TrackInput) => void

export function tracking(dispatcher: Dispatcher): Track {
  return input => void dispatcher.track(input, { wait: 'accepted', onFailure: 'swallow' })
}
