import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { otlpTracesReceiver } from '../receivers/otlp-traces.ts'
import { ROOT } from '../support/source.ts'

const EXAMPLE = join(ROOT, 'examples/tracing')

it('E20: the example of the guide runs, and its trace arrives', async () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/tracing.md'), 'utf8')
  for (const file of ['tracing.ts', 'main.ts'])
    expect(guide).toContain(readFileSync(join(EXAMPLE, file), 'utf8').trim())
  const receiver = await otlpTracesReceiver()
  const env = { ...process.env, OTLP_TRACES_URL: receiver.tracesUrl, TRACES_KEPT: '1' }
  await promisify(execFile)(
    process.execPath,
    ['--import', join(ROOT, 'test/support/from-source.ts'), join(EXAMPLE, 'main.ts')],
    { env },
  )
  await receiver.close()
  const [send, handled] = ['send orders', 'process orders'].map(name =>
    receiver.spans.find(span => span.name === name),
  )
  expect(handled).toMatchObject({ traceId: send?.traceId, parentSpanId: send?.spanId })
})
