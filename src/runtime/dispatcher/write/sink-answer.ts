import { LazaretError } from '../../../core/failure/errors.ts'
import { show } from '../../../core/options/show.ts'
import type { RejectedItem } from '../../../ports/sink.ts'

const NONE: readonly RejectedItem[] = Object.freeze([])

/** A sink's answer does not say which events of the batch it refused, so none of them counts as written. */
export class SinkAnswerError extends LazaretError {
  override readonly name = 'SinkAnswerError'
  readonly category = 'integration'

  constructor(sink: string, problem: string) {
    super(
      `sink ${sink}: write() returned an invalid value: ${problem}; return nothing, or { rejected: [{ index, error }] } with the index of each rejected event`,
      { code: 'LAZARET_SINK_ANSWER_INVALID', retryable: true },
    )
  }
}

/**
 * The refused items that a sink's answer names. Sinks are written by others, and not all of them are type-checked. An
 * answer that names an item in a way that does not fit the batch throws: to leave that item out would count it as written.
 */
export function rejectedItems(sink: string, answer: unknown, batchSize: number): readonly RejectedItem[] {
  if (answer === undefined || answer === null) return NONE
  let items: readonly RejectedItem[] | string
  try {
    items = read(answer, batchSize)
  } catch {
    items = 'a getter or proxy threw'
  }
  if (typeof items === 'string') throw new SinkAnswerError(sink, items)
  return items
}

/** The items, or what is wrong with the answer. */
function read(answer: unknown, batchSize: number): readonly RejectedItem[] | string {
  if (Array.isArray(answer)) return answer.length === 0 ? NONE : 'it is an array'
  const { rejected } = answer as { readonly rejected?: unknown }
  if (rejected === undefined) return NONE
  if (!Array.isArray(rejected)) return `rejected is ${show(rejected)}`
  const items = new Map<number, RejectedItem>()
  for (let place = 0; place < rejected.length; place++) {
    const { index, error } = (rejected[place] ?? {}) as Partial<RejectedItem>
    if (!isPlace(index, batchSize))
      return `rejected[${place}].index is ${show(index)} in a batch of ${batchSize}`
    if (items.has(index)) return `rejected names index ${index} twice`
    items.set(index, { index, error })
  }
  return [...items.values()]
}

function isPlace(index: unknown, batchSize: number): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < batchSize
}
