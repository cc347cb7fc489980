export interface KeyPress {
  readonly key: string
  /** Held with control, alt or the command key: then it belongs to the browser. */
  readonly isChord: boolean
  /** Typed into a field: then it is text. */
  readonly isTyping: boolean
}

export type KeyAction = { readonly go: string } | Command | 'wait' | undefined

/** What one key does by itself. `does` stands in the list of shortcuts. */
export const COMMANDS = {
  '/': { name: 'search', does: 'Search' },
  j: { name: 'next row', does: 'Next row' },
  k: { name: 'previous row', does: 'Previous row' },
  x: { name: 'select row', does: 'Select the row, or not' },
  r: { name: 'replay', does: 'Replay what is selected, open or in focus' },
  c: { name: 'compare', does: 'Compare the two selected letters' },
  '?': { name: 'help', does: 'Show shortcuts' },
} as const

export type Command = (typeof COMMANDS)[keyof typeof COMMANDS]['name']

/** Where `g` and then a letter leads. */
export const PLACES: Readonly<Record<string, { readonly href: string; readonly name: string }>> = {
  o: { href: '/overview', name: 'Overview' },
  g: { href: '/groups', name: 'Groups' },
  l: { href: '/letters', name: 'Letters' },
  r: { href: '/replays', name: 'Replays' },
  c: { href: '/channels', name: 'Channels' },
  f: { href: '/services', name: 'Services' },
  a: { href: '/audit', name: 'Audit' },
  s: { href: '/settings', name: 'Settings' },
}

/** What a key means, given whether a `g` waits for its second letter. */
export function meaningOf({ key, isChord, isTyping }: KeyPress, isWaiting: boolean): KeyAction {
  if (isChord || isTyping) return undefined
  if (isWaiting) return Object.hasOwn(PLACES, key) ? { go: PLACES[key]!.href } : undefined
  if (key === 'g') return 'wait'
  return Object.hasOwn(COMMANDS, key) ? COMMANDS[key as keyof typeof COMMANDS].name : undefined
}
