import type { Io, Out } from '../io.ts'

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, number>> = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 }

export type Paint = (colour: Colour | undefined, text: string) => string

/** Uses colours on a terminal only. */
export function paintFor(out: Out, env: Io['env']): Paint {
  const isColoured = out.isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  if (!isColoured) return (_, text) => text
  return (colour, text) =>
    colour === undefined || text === '' ? text : `\u001b[${CODES[colour]}m${text}\u001b[0m`
}

/** The colour of a state of a letter, group or replay. */
export function stateColour(state: string): Colour | undefined {
  switch (state) {
    case 'dead':
    case 'halted':
    case 'open':
      return 'red'
    case 'quarantined':
    case 'parked':
    case 'paused':
      return 'yellow'
    case 'resolved':
    case 'finished':
      return 'green'
    case 'replaying':
    case 'running':
    case 'approved':
    case 'acknowledged':
      return 'cyan'
    default:
      return 'dim'
  }
}
