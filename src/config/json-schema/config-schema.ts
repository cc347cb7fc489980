import type { Form } from '../../core/options/rules.ts'
import { policiesForm } from '../policies/rules.ts'
import { settingRules } from '../schema.ts'
import { withDefinitions } from './definitions.ts'
import { type JsonSchema, POLICIES, SETTINGS, schemaOf } from './form-schema.ts'

/** The sections whose options are put over more general ones. */
const OVER_OTHERS = ['channels', 'sinks', 'calls']

/** The JSON Schema of `lazaret.yaml`, made of the rules that the loader reads it by. */
export function configSchema(): JsonSchema {
  const settings: Form = { kind: 'fields', fields: settingRules }
  const { properties, ...rest } = schemaOf(settings, SETTINGS)
  return withDefinitions({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The config file of Lazaret',
    ...rest,
    type: ['object', 'null'],
    properties: {
      ...(properties as JsonSchema),
      policies: policiesSchema(),
      service: { description: 'Settings of your own, which loadPolicies checks with your schema.' },
    },
  })
}

function policiesSchema(): JsonSchema {
  const fields = policiesForm.kind === 'fields' ? policiesForm.fields : {}
  const { properties, ...rest } = schemaOf(policiesForm, POLICIES)
  const over = OVER_OTHERS.map(name => [name, schemaOf(fields[name]?.form, { ...POLICIES, isOver: true })])
  return { ...rest, properties: { ...(properties as JsonSchema), ...Object.fromEntries(over) } }
}

/** The same as the text of a file. */
export function configSchemaText(): string {
  return `${JSON.stringify(configSchema(), null, 2)}\n`
}
