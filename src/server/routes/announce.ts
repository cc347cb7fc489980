import type { Room } from '../room.ts'
import type { Topic } from '../schema/stream.ts'

/** Something was changed through this server: whoever looks next sees it, and whoever reads the stream is told. */
export function announce(room: Room, ...topics: readonly Topic[]): void {
  room.figures.forget()
  room.live.touch(...topics)
}
