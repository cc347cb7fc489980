import { describe, expect, it, vi } from 'vitest'
import { neverAborted, rejection } from '../../../test/support/sink-writes.ts'
import { classify } from '../../core/failure/classify.ts'
import { createFactory } from '../../testing/factories.ts'
import { otlp } from './otlp/sink.ts'
import { sentry } from './sentry/sink.ts'

const batch = createFactory().events(1, { headers: { severity: 'error' } })

const sinks = {
  '@sentry/node': () => sentry({ dsn: 'http://key@127.0.0.1:9/1' }),
  '@opentelemetry/exporter-logs-otlp-proto': () => otlp({ url: 'http://127.0.0.1:9/v1/logs' }),
  '@opentelemetry/exporter-logs-otlp-http': () => otlp({ url: 'http://127.0.0.1:9/v1/logs', format: 'json' }),
}

describe('a client that is not installed', () => {
  it.each(Object.entries(sinks))(
    'E2: %s is named with the command that installs it',
    async (client, open) => {
      vi.doMock(client, () => {
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
      })
      const sink = open()
      const error = await rejection(sink.write(batch, neverAborted()))
      expect(String(error)).toContain(`npm install ${client}`)
      expect(classify(error)).toMatchObject({ retryable: false, code: 'LAZARET_CLIENT_MISSING' })
      await sink.close?.()
      vi.doUnmock(client)
    },
  )
})
