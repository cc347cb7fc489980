import type { LazaretEvent } from '../../../core/event/event.ts'
import { severityText } from '../severity.ts'

/** Takes the place of a label's values once there are too many of them. */
const OVERFLOW = 'other'
/** Loki's own limits, as it is delivered. */
const MAX_NAME_LENGTH = 1_024
const MAX_VALUE_BYTES = 2_048
export const MAX_LABELS = 15
/** Label sets are remembered, because making them costs more than looking them up. */
const MAX_REMEMBERED = 5_000

/** A field of an event that can be a label. */
export type LabelField = 'channel' | 'type' | 'severity' | 'source'
export const LABEL_FIELDS = ['channel', 'type', 'severity', 'source'] as const

interface LabelOptions {
  /** The labels that all events share. */
  readonly labels: Readonly<Record<string, string>>
  /** The fields of an event that become labels. */
  readonly labelFields: readonly LabelField[]
  /** More labels of an event. */
  readonly labelsOf: ((event: LazaretEvent) => Readonly<Record<string, string>>) | undefined
  /** Values that each label may have in the life of this process. */
  readonly maxLabelValues: number
}

/**
 * A valid name of a Loki label: letters, digits and underscores, without the leading double underscore that Loki
 * reserves.
 */
export function labelName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^_+/, '_')
  return (/^\d/.test(clean) || clean === '' ? `_${clean}` : clean).slice(0, MAX_NAME_LENGTH)
}

/**
 * The labels of events, as the JSON text of a push. Loki keeps a stream open for each different set of labels, so the
 * number of values of each label is limited: later values share one.
 */
export class Labels {
  readonly #options: LabelOptions
  readonly #values = new Map<string, Set<string>>()
  readonly #remembered = new Map<string, string>()

  constructor(options: LabelOptions) {
    this.#options = options
  }

  textOf(event: LazaretEvent): string {
    const { labelFields, labelsOf } = this.#options
    const more = labelsOf?.(event)
    let mark = more === undefined ? '' : JSON.stringify(more)
    for (const field of labelFields) mark += `\n${fieldOf(event, field) ?? ''}`
    const known = this.#remembered.get(mark)
    if (known !== undefined) return known
    const text = JSON.stringify(this.#make(event, more))
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(mark, text)
    return text
  }

  #make(event: LazaretEvent, more: Readonly<Record<string, string>> | undefined): Record<string, string> {
    const { labels, labelFields } = this.#options
    const made = new Map<string, string>()
    for (const field of labelFields) this.#add(made, field, fieldOf(event, field))
    for (const [name, value] of Object.entries(more ?? {})) this.#add(made, name, value)
    // Static labels come last: labels that the options set explicitly win.
    for (const [name, value] of Object.entries(labels)) made.set(labelName(name), clipped(value))
    return Object.fromEntries([...made].slice(-MAX_LABELS))
  }

  /** Loki ignores an empty label too. */
  #add(made: Map<string, string>, given: string, value: unknown): void {
    if (value === undefined || value === null || value === '') return
    const name = labelName(given)
    made.set(name, this.#bounded(name, clipped(String(value))))
  }

  #bounded(name: string, value: string): string {
    let values = this.#values.get(name)
    if (values === undefined) {
      // Names come out of a function of the user's, so they are bounded as well.
      if (this.#values.size >= this.#options.maxLabelValues) return OVERFLOW
      values = new Set()
      this.#values.set(name, values)
    }
    if (values.has(value)) return value
    if (values.size >= this.#options.maxLabelValues) return OVERFLOW
    values.add(value)
    return value
  }
}

function fieldOf(event: LazaretEvent, field: LabelField): string | undefined {
  const { channel, type, source } = event
  switch (field) {
    case 'channel':
      return channel
    case 'type':
      return type
    case 'source':
      return source
    case 'severity':
      return severityText(event)
  }
}

function clipped(value: string): string {
  if (value.length * 3 <= MAX_VALUE_BYTES || Buffer.byteLength(value) <= MAX_VALUE_BYTES) return value
  // A character that the cut has torn apart is left out.
  return new TextDecoder().decode(Buffer.from(value).subarray(0, MAX_VALUE_BYTES)).replace(/\uFFFD+$/, '')
}
