import { useSyncExternalStore } from 'react'
import type { Zone } from './times.ts'

export type Theme = 'system' | 'light' | 'dark'

/** What a person chose for this browser. It may not be storable; then it lasts as long as the page. */
class Preference<T extends string> {
  readonly #key: string
  readonly #choices: readonly T[] | undefined
  readonly #listeners = new Set<() => void>()
  #value: T

  /** Without choices any text will do. */
  constructor(key: string, usual: T, choices?: readonly T[]) {
    this.#key = key
    this.#choices = choices
    this.#value = this.#stored() ?? usual
  }

  read = (): T => this.#value

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  set(value: T): void {
    this.#value = value
    try {
      localStorage.setItem(this.#key, value)
    } catch {
      // See above.
    }
    for (const listener of this.#listeners) listener()
  }

  #stored(): T | undefined {
    try {
      const stored = localStorage.getItem(this.#key) as T | null
      const isChoice = stored !== null && (this.#choices?.includes(stored) ?? true)
      return isChoice ? stored : undefined
    } catch {
      return undefined
    }
  }
}

export const theme = new Preference<Theme>('lazaret.theme', 'system', ['system', 'light', 'dark'])
export const zone = new Preference<Zone>('lazaret.zone', 'utc', ['utc', 'local'])
/** Where there is no room for both, the screen comes first. */
const isNarrow = globalThis.matchMedia?.('(max-width: 1359px)').matches === true
export const tour = new Preference<'open' | 'shut'>('lazaret.tour', isNarrow ? 'shut' : 'open', [
  'open',
  'shut',
])
export const traceAddress = new Preference<string>('lazaret.traces', '')

export function usePreference<T extends string>(preference: Preference<T>): T {
  return useSyncExternalStore(preference.subscribe, preference.read)
}

/** Puts the theme on the page, and follows the system while that is what was chosen. */
export function applyTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const chosen = theme.read()
    const isDark = chosen === 'dark' || (chosen === 'system' && system.matches)
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
  }
  theme.subscribe(apply)
  system.addEventListener('change', apply)
  apply()
}
