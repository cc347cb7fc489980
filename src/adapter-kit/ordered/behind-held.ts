import type { LineEvent, Lines } from './lines.ts'

/**
 * The events that can leave the process: those behind a first event that is held itself. A new owner delivers held events
 * before those of the channel, so that nothing may be left in front of them. A replay of the first event stays: it takes the
 * place of that event if the event dies.
 */
export function behindHeld<E extends { readonly isHeld: boolean }>(lines: Lines<E>): LineEvent<E>[] {
  const found: LineEvent<E>[] = []
  for (const line of lines.all()) {
    const [first] = line
    if (first?.heldAt === undefined) continue
    for (const event of line)
      if (event.state === 'ready' && event.entry?.isHeld === false && event.id !== first.id) found.push(event)
  }
  return found
}
