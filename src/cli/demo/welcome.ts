import type { Io } from '../io.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { DEFAULT_PORT, type DemoServer } from './demo-server.ts'
import type { DemoStore } from './demo-store.ts'

const HIGHLIGHTS = [
  ['Groups', 'after 3 s, release 2.4.0 breaks payments: one cause, one group, one letter per wallet payment'],
  ['Channels', 'after 13 s, the warehouse fails: its breaker opens, the channel pauses, and both recover'],
  ['Letters', 'after 15 s, analytics fails: the events that it missed become letters, and no customer waits'],
  [
    'Replays',
    'after 30 s, the first replay halts by its rules; after the fix at 40 s, the next one recovers all',
  ],
  ['/metrics', 'all numbers, in the Prometheus format'],
] as const

/** The text after the start of the demo: its URL, and what to look at. */
export function welcome(io: Io, server: DemoServer, demoStore: DemoStore, seed: number): string {
  const paint = paintFor(io.stdout, io.env)
  const sights = HIGHLIGHTS.map(([where, what]) => `  ${paint('bold', where.padEnd(8))}  ${what}`)
  const kept = demoStore.isKept ? `${safeText(demoStore.url)} is kept` : 'nothing is kept'
  return [
    `Demo shop with failing handlers, seed ${seed}:  ${paint('cyan', server.url)}`,
    '',
    ...sights,
    '',
    ...notes(server),
    paint('dim', `Press Ctrl-C to stop; ${kept}.`),
    '',
  ].join('\n')
}

/** Notes on what differs from the usual demo. */
export function notes({ port, isPortRequested, token, hasConsole }: DemoServer): readonly string[] {
  return [
    ...(!isPortRequested && port !== DEFAULT_PORT
      ? [`Port ${DEFAULT_PORT} is in use; the demo listens on ${port}.`]
      : []),
    ...(token === undefined
      ? []
      : [`Other machines can reach this address, so the console requires a token: ${token}`]),
    ...(hasConsole ? [] : ['The console is not built; build it with npm run build. The API is at /api/v1.']),
  ]
}
