import { expect, it } from 'vitest'
import { outputWithout } from '../../../test/support/without-package.ts'

it('"lazaret/otel without its peer gives the same error as the others": code and how to install it', async () => {
  const output = await outputWithout(
    '@opentelemetry/api',
    `await import('./src/adapters/otel/index.ts').then(
      () => console.log('loaded'),
      error => console.log(error.name, error.code, error.message),
    )`,
  )
  expect(output).toBe(
    'ClientMissingError LAZARET_CLIENT_MISSING @opentelemetry/api: cannot be loaded; ' +
      'install it beside lazaret: npm install @opentelemetry/api',
  )
})
