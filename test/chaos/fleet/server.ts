import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/ports/clock.ts'
import { ROOT } from '../../support/source.ts'
import { writeLine } from '../../support/write-line.ts'

// One of the servers of a campaign: the built `lazaret serve`, which says when it answers. Its log goes to a file.
const [config = '', port = '', log = ''] = process.argv.slice(2)

process.stderr.write = (text: string | Uint8Array, ...rest: readonly unknown[]) => {
  appendFileSync(log, text)
  // The command waits until its text is taken.
  for (const done of rest) if (typeof done === 'function') done()
  return true
}

async function answers(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
}

function sayWhenReady(): void {
  void answers().then(isReady => {
    if (isReady) writeLine('started')
    else systemClock.schedule(100, sayWhenReady)
  })
}

sayWhenReady()
process.argv.splice(2, Number.POSITIVE_INFINITY, 'serve', '--config', config, '--port', port)
await import(join(ROOT, 'dist/cli/main.js'))
