import { Faults } from '../../core/options/faults.ts'
import type { Form, NumberForm, Rule } from '../../core/options/rules.ts'
import { durationPattern } from '../duration.ts'
import { fileName } from '../policies/form-reader.ts'

/** A JSON Schema, draft 7. */
export type JsonSchema = { readonly [keyword: string]: unknown }
type Fields = Readonly<Record<string, Rule<unknown>>>

/** Where a form stands. The loader reads the settings of the server and the options of policies in slightly different ways. */
interface Place {
  /** Durations have names without `Ms`, and a key without a value is an empty map. */
  readonly isPolicy: boolean
  /** The options are put over more general ones, which may have the required fields of a group. */
  readonly isOver: boolean
  /** 0 for options, 1 for the fields of an option, and so on. */
  readonly depth: number
}

export const SETTINGS: Place = { isPolicy: false, isOver: false, depth: 0 }
export const POLICIES: Place = { ...SETTINGS, isPolicy: true }

/** A number in quotes, as the environment gives it. */
const NUMBER_TEXT: JsonSchema = { type: 'string', pattern: '^\\s*-?\\d+(?:\\.\\d+)?\\s*$' }
const FLAG_TEXT: JsonSchema = { enum: ['true', 'false'] }

/** A text with a variable, whose value an editor cannot know. */
const VARIABLE: JsonSchema = { type: 'string', pattern: '\\$\\{[A-Za-z_]' }

/** The data that a form accepts. It cannot say how options depend on each other, nor check what comes from variables. */
export function schemaOf(form: Form | undefined, place: Place): JsonSchema {
  switch (form?.kind) {
    case undefined:
      return {}
    case 'fields':
      return fieldsSchema(form.fields, place)
    case 'map':
      return {
        type: place.isPolicy ? ['object', 'null'] : 'object',
        additionalProperties: schemaOf(form.value, { ...place, depth: 0 }),
      }
    case 'list': {
      const { item, minItems, maxItems } = form
      const items = schemaOf(item, { ...place, depth: place.depth + 1 })
      return { type: 'array', items, ...(minItems > 0 && { minItems }), maxItems }
    }
    case 'either':
      return eitherSchema(form.forms, place)
    case 'number':
      return orVariable(numberSchema(form), NUMBER_TEXT)
    case 'duration':
      return orVariable({ type: 'string', pattern: durationPattern(true) })
    case 'flag':
      return orVariable({ type: 'boolean' }, FLAG_TEXT)
    case 'choice':
      return orVariable({ enum: form.values })
    case 'pattern':
      return { type: 'string', minLength: 1 }
    case 'text':
      return textSchema(form)
  }
}

/** Writes every alternative once, so that an editor shows one problem for one value. */
function orVariable(...schemas: readonly JsonSchema[]): JsonSchema {
  return { anyOf: [...schemas, VARIABLE] }
}

function numberSchema({ isInteger, min, max, above }: NumberForm): JsonSchema {
  return {
    type: isInteger ? 'integer' : 'number',
    ...(Number.isFinite(min) && { [above ? 'exclusiveMinimum' : 'minimum']: min }),
    ...(Number.isFinite(max) && { maximum: max }),
  }
}

function textSchema({ maxLength, pattern }: Extract<Form, { readonly kind: 'text' }>): JsonSchema {
  const length = maxLength === undefined ? {} : { maxLength }
  if (pattern === undefined) return { type: 'string', minLength: 1, ...length }
  return orVariable({ type: 'string', pattern: pattern.source, ...length })
}

function fieldsSchema(fields: Fields, place: Place): JsonSchema {
  const properties = propertiesOf(fields, place)
  const required = place.isOver && place.depth === 1 ? [] : requiredOf(fields, place)
  return {
    type: place.isPolicy && required.length === 0 ? ['object', 'null'] : 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function propertiesOf(fields: Fields, place: Place): Readonly<Record<string, JsonSchema>> {
  const inner = { ...place, depth: place.depth + 1 }
  const properties: Record<string, JsonSchema> = {}
  for (const [name, { form }] of Object.entries(fields)) {
    if (form === undefined) continue
    const short = place.isPolicy ? fileName(fields, name) : name
    if (short !== name) properties[short] = form.kind === 'number' ? timeSchema(form) : schemaOf(form, inner)
    properties[name] = short === name ? schemaOf(form, inner) : inMilliseconds(form, inner)
  }
  return properties
}

function timeSchema({ min, above }: NumberForm): JsonSchema {
  return orVariable({ type: 'string', pattern: durationPattern(min > 0 || above) })
}

/** The option under the name that it has in code. */
function inMilliseconds(form: Form, place: Place): JsonSchema {
  const isFinal = form.kind === 'number'
  return schemaOf(isFinal ? form : withMilliseconds(form), place)
}

/** The same form with numbers in place of durations. */
function withMilliseconds(form: Form): Form {
  switch (form.kind) {
    case 'duration':
      return { kind: 'number', isInteger: false, min: 0, max: Number.POSITIVE_INFINITY, above: true }
    case 'either':
      return { kind: 'either', forms: form.forms.map(withMilliseconds) }
    case 'map':
      return { kind: 'map', value: form.value && withMilliseconds(form.value) }
    case 'fields': {
      const fields = Object.entries(form.fields).map(([name, rule]) => [
        name,
        { ...rule, form: rule.form && withMilliseconds(rule.form) },
      ])
      return { kind: 'fields', fields: Object.fromEntries(fields) }
    }
    default:
      return form
  }
}

/** The rules say it themselves: a required option that is left out is a fault. */
function requiredOf(fields: Fields, place: Place): readonly string[] {
  return Object.entries(fields)
    .filter(([, rule]) => rule.form !== undefined && isRequired(rule))
    .map(([name]) => (place.isPolicy ? fileName(fields, name) : name))
}

function isRequired(rule: Rule<unknown>): boolean {
  const faults = new Faults()
  rule.read(undefined, '', faults)
  return faults.list.length > 0
}

function eitherSchema(forms: readonly Form[], place: Place): JsonSchema {
  const groups = forms.flatMap(form => (form.kind === 'fields' ? [form.fields] : []))
  const others = forms.filter(({ kind }) => kind !== 'fields')
  const schemas = others.flatMap(form => alternatives(schemaOf(form, place)))
  const object =
    groups.length > 1 ? byChoice(groups, place) : groups.map(fields => notNull(fieldsSchema(fields, place)))
  const all = unique([...object, ...schemas])
  return all.length === 1 ? all[0]! : { anyOf: all }
}

/** Groups that are alternatives differ in a choice, such as the `kind` of a backoff: it decides which fields are known. */
function byChoice(groups: readonly Fields[], place: Place): readonly JsonSchema[] {
  const key = Object.keys(groups[0]!).find(name =>
    groups.every(fields => singleChoice(fields[name]) !== undefined),
  )
  if (key === undefined) return groups.map(fields => notNull(fieldsSchema(fields, place)))
  const values = groups.map(fields => singleChoice(fields[key]))
  return [
    {
      type: 'object',
      properties: { [key]: orVariable({ enum: values }) },
      required: [key],
      allOf: groups.map((fields, index) => ({
        if: { properties: { [key]: { const: values[index] } }, required: [key] },
        // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
        then: notNull(fieldsSchema(fields, place)),
      })),
    },
  ]
}

function singleChoice(rule: Rule<unknown> | undefined): string | false | undefined {
  return rule?.form?.kind === 'choice' && rule.form.values.length === 1 ? rule.form.values[0] : undefined
}

/** A key without a value is an empty group only where the option has no other form. */
function notNull(schema: JsonSchema): JsonSchema {
  return { ...schema, type: 'object' }
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  return (schema['anyOf'] as readonly JsonSchema[] | undefined) ?? [schema]
}

function unique(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  return [...new Map(schemas.map(schema => [JSON.stringify(schema), schema])).values()]
}
