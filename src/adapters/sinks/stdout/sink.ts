import type { LazaretEvent } from '../../../core/event/event.ts'
import { encodeEvent } from '../../../core/event/json.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { having, oneOf, optional, withDefault } from '../../../core/options/rules.ts'
import type { Sink } from '../../../ports/sink.ts'
import { prettyLine, visible } from './pretty.ts'
import { Output, type OutputStream } from './stream.ts'

/** Options of `stdout()`. */
export interface StdoutOptions {
  /** For people or for programs [auto: pretty on a terminal, JSON lines otherwise]. */
  readonly format?: 'auto' | 'pretty' | 'json' | undefined
  /** Of the pretty form [auto: on a terminal, unless NO_COLOR is set]. */
  readonly colour?: 'auto' | 'always' | 'never' | undefined
  /** Another stream, such as `process.stderr` [process.stdout]. */
  readonly stream?: OutputStream | undefined
}

const rules = {
  format: withDefault(oneOf('auto', 'pretty', 'json'), 'auto'),
  colour: withDefault(oneOf('auto', 'always', 'never'), 'auto'),
  stream: optional(having<OutputStream>('give a writable stream such as process.stderr', 'write', 'on')),
}

/** Writes events to standard output, one line for each. */
export function stdout(options?: StdoutOptions): Sink {
  const { format, colour, stream = process.stdout } = resolveOptions('stdout', rules, options)
  const isTerminal = stream.isTTY === true
  const isColoured = colour === 'auto' ? isTerminal && !process.env['NO_COLOR'] : colour === 'always'
  const isPretty = format === 'auto' ? isTerminal : format === 'pretty'
  const line = isPretty ? (event: LazaretEvent) => prettyLine(event, isColoured) : jsonLine
  const output = new Output(stream)
  return {
    async write(batch, { signal }) {
      await output.write(batch.map(line).join(''), signal)
    },
    async probe() {
      output.check()
    },
    async close() {
      output.close()
    },
  }
}

function jsonLine(event: LazaretEvent): string {
  return `${visible(encodeEvent(event))}\n`
}
