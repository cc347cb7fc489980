import type { ConsumerInfo, StreamInfo } from '../../connection/jetstream.ts'
import { StreamMismatchError } from '../../errors.ts'
import type { ChannelStreams } from './names.ts'

/** A stream of the same name that is not what the channel needs would lose or mix events. */
export function requireStream({ config }: StreamInfo, subjects: string, kind: keyof ChannelStreams): void {
  if (!config.subjects?.includes(subjects))
    throw new StreamMismatchError(
      config.name,
      `has the subjects ${config.subjects?.join(', ') || '(none)'} and not '${subjects}'`,
    )
  const isWorkQueue = config.retention === 'workqueue'
  if (isWorkQueue !== (kind === 'retries'))
    throw new StreamMismatchError(config.name, `has the retention '${config.retention}'`)
}

/** A consumer that somebody else has made must not lose events. Returns its time to wait, in ns. */
export function requireConsumer(stream: string, info: ConsumerInfo): number {
  const { config } = info
  const name = `${stream} > ${info.name}`
  if (config['ack_policy'] !== 'explicit' || config['deliver_subject'] !== undefined)
    throw new StreamMismatchError(name, 'is not a pull consumer with explicit acknowledgements')
  const limit = deliveryLimit(info)
  if (limit !== undefined) throw new StreamMismatchError(name, limit)
  return Number(config['ack_wait'])
}

/** Says that the server gives up on an event after `max_deliver` deliveries, without a report. Undefined if it never does. */
export function deliveryLimit({ config }: ConsumerInfo): string | undefined {
  const deliveries = Number(config['max_deliver'] ?? 0)
  return deliveries > 0 ? `has max_deliver ${deliveries}, after which the server drops events` : undefined
}
