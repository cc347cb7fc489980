import { expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { configSchemaText } from '../../config/json-schema/config-schema.ts'

it('R1: config schema prints the schema, and with --json on one line', async () => {
  const { lazaret } = cliWorld()
  expect(await lazaret('config', 'schema')).toMatchObject({ code: 0, out: configSchemaText(), err: '' })
  const { out, json } = await lazaret('config', 'schema', '--json')
  expect(out.trimEnd().split('\n')).toHaveLength(1)
  expect(json).toEqual([JSON.parse(configSchemaText())])
})
