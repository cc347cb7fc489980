import { expect, it, vi } from 'vitest'
import { classify } from '../../core/failure/classify.ts'

it('E2: without @opentelemetry/api the import fails with the command that installs it', async () => {
  vi.doMock('@opentelemetry/api', () => {
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  })
  const error: unknown = await import('./index.ts').catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('npm install @opentelemetry/api')
  expect(classify(error)).toMatchObject({ retryable: false, code: 'LAZARET_CLIENT_MISSING' })
})
