import { isPlainObject } from '../../../core/event/plain.ts'
import { readJson } from '../connection/json.ts'

/** The stream that keeps the messages of the server about deliveries it has given up on. */
export const ADVISORY_STREAM = 'LAZARET_ADVISORIES'
export const ADVISORY_SUBJECT = '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>'

/** What the server says when it has delivered a message as often as its consumer allows. */
export interface Advisory {
  readonly stream: string
  readonly consumer: string
  readonly sequence: number
  readonly deliveries: number
  readonly at: number
}

/** Undefined if the bytes are not such a message. */
export function readAdvisory(data: Uint8Array): Advisory | undefined {
  const told = readJson(data)
  if (!isPlainObject(told)) return undefined
  const { stream, consumer, stream_seq: sequence, deliveries, timestamp } = told
  const at = Date.parse(String(timestamp))
  if (typeof stream !== 'string' || typeof consumer !== 'string' || Number.isNaN(at)) return undefined
  if (!isCount(sequence) || !isCount(deliveries)) return undefined
  return { stream, consumer, sequence, deliveries, at }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}
