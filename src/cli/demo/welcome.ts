import type { Io } from '../io.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { DEFAULT_PORT, type DemoServer } from './demo-server.ts'
import type { DemoStore } from './demo-store.ts'

const HIGHLIGHTS = [
  ['Groups', 'release 2.4.0 breaks the payments after 3 s: one cause, one group, a letter for each wallet'],
  [
    'Channels',
    'the warehouse fails after 13 s: its breaker opens, the channel pauses, and the warehouse recovers',
  ],
  ['Letters', 'analytics fails after 15 s: its missed copies become letters, and no customer waits'],
  ['Replays', 'the first one halts by itself after 30 s; after the fix at 40 s the next one recovers all'],
  ['/metrics', 'all of it counted, as Prometheus reads it'],
] as const

/** What a person reads when the demo has started: where it is, and what to look at. */
export function welcome(io: Io, server: DemoServer, demoStore: DemoStore, seed: number): string {
  const paint = paintFor(io.stdout, io.env)
  const sights = HIGHLIGHTS.map(([where, what]) => `  ${paint('bold', where.padEnd(8))}  ${what}`)
  const kept = demoStore.isKept ? `${safeText(demoStore.url)} is kept` : 'nothing of it is kept'
  return [
    `A shop on a bad day, seed ${seed}:  ${paint('cyan', server.url)}`,
    '',
    ...sights,
    '',
    ...notes(server),
    paint('dim', `Ctrl-C ends it; ${kept}.`),
    '',
  ].join('\n')
}

/** What is not as it usually is. */
export function notes({ port, isPortRequested, token, hasConsole }: DemoServer): readonly string[] {
  return [
    ...(!isPortRequested && port !== DEFAULT_PORT
      ? [`Port ${DEFAULT_PORT} is taken, so it is ${port}.`]
      : []),
    ...(token === undefined ? [] : [`Others can reach this address, so it asks for a token: ${token}`]),
    ...(hasConsole ? [] : ['The console is not built: npm run build makes it. The API answers at /api/v1.']),
  ]
}
