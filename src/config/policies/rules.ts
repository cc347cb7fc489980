import { RETRY_LIMIT_PRESETS } from '../../core/limit/options.ts'
import { group } from '../../core/options/resolve.ts'
import { type Form, oneOf, optional, type Rule } from '../../core/options/rules.ts'
import { consumerFileOptions } from '../../runtime/consumer/consumer-options.ts'
import { dispatcherFileOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import { laneFileOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import { callFileOptions } from '../../runtime/resilient/resilient-options.ts'

type PresetName = keyof typeof RETRY_LIMIT_PRESETS

export const presetRule: Rule<PresetName | undefined> = optional(
  oneOf('production', 'staging', 'development'),
)

/** Data that is read later, by the rule of its stack. */
function formOnly(form: Form | undefined): Rule<unknown> {
  return { form, read: value => value }
}

function mapOf(value: Form | undefined): Rule<unknown> {
  return formOnly({ kind: 'map', value })
}

const channel = fieldsOf(consumerFileOptions.form)

/** The section `policies` of a config file. */
export const policiesForm: Form = {
  kind: 'fields',
  fields: {
    preset: presetRule,
    defaults: group({ consumer: formOnly(consumerFileOptions.form), call: formOnly(callFileOptions.form) }),
    channels: mapOf({
      kind: 'fields',
      fields: { ...channel, handlers: mapOf(consumerFileOptions.form) },
    }),
    dispatcher: formOnly(dispatcherFileOptions.form),
    sinks: mapOf(laneFileOptions.form),
    calls: mapOf(callFileOptions.form),
  },
}

function fieldsOf(form: Form | undefined): Readonly<Record<string, Rule<unknown>>> {
  return form?.kind === 'fields' ? form.fields : {}
}

/** The options that a preset sets, under all that a file says. */
export function presetOptions(preset: PresetName | undefined): object {
  return preset === undefined ? {} : { retryLimit: RETRY_LIMIT_PRESETS[preset] }
}
