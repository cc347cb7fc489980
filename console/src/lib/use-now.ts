import { useSyncExternalStore } from 'react'
import { every, now } from './browser-clock.ts'

const TICK_MS = 5_000
const listeners = new Set<() => void>()
let current = now()
let stop = () => {}

/** The time of the page, told again every few seconds: all ages on the screen move together. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => current)
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    current = now()
    stop = every(TICK_MS, tick)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) stop()
  }
}

function tick(): void {
  current = now()
  for (const listener of listeners) listener()
}
