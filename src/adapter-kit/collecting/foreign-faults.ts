/** Reads the header of a name as text; undefined if there is none. */
type HeaderText = (name: string) => string | undefined

const JAVA_LINE = /^(?:Caused by: )?((?:[\w$]+\.)+[\w$]+)(?:: (.*))?$/

/** The last cause of a Java stack. The exception of a listener only wraps that of the application. */
export function rootCause(stack: string): { readonly error: string; readonly message: string } {
  const lines = stack.split('\n').map(line => line.trimEnd())
  const causes = lines.filter((line, index) => index === 0 || line.startsWith('Caused by: '))
  const [, error, message] = JAVA_LINE.exec(causes.at(-1) ?? '') ?? []
  return { error: error ?? 'Exception', message: message ?? '' }
}

/** The failure that MassTransit wrote on a message. */
interface MassTransitFault {
  readonly writtenBy: 'masstransit'
  readonly error: string
  readonly message: string
  readonly stack: string | undefined
  readonly at: number | undefined
  /** The queue or topic whose consumer gave up. */
  readonly queue: string | undefined
  readonly attempts: number
}

/** Reads a message that MassTransit moved to `QUEUE_error`, or for another reason to `QUEUE_skipped`. */
export function readMassTransitFault(header: HeaderText): MassTransitFault | undefined {
  const reason = header('MT-Reason')
  const error = header('MT-Fault-ExceptionType')
  if (reason === undefined && error === undefined) return undefined
  const at = Date.parse(header('MT-Fault-Timestamp') ?? '')
  return {
    writtenBy: 'masstransit',
    error: error ?? 'MassTransit',
    message: header('MT-Fault-Message') ?? REASONS[reason ?? ''] ?? `moved here: ${reason}`,
    stack: header('MT-Fault-StackTrace'),
    at: Number.isNaN(at) ? undefined : at,
    queue: lastOfPath(header('MT-Fault-InputAddress')),
    attempts: countText(header('MT-Fault-RetryCount')) + 1,
  }
}

const REASONS: Readonly<Record<string, string>> = {
  'dead-letter': 'no consumer of the endpoint takes messages of this type',
}

/** The last part of an address such as `rabbitmq://host/vhost/queue?durable=true` or `kafka://topic/orders`. */
export function lastOfPath(address: string | undefined): string | undefined {
  const [path = ''] = (address ?? '').split('?', 1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name === '') return undefined
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The count in a text; 0 if it has none. */
export function countText(text: string | undefined): number {
  const count = Number(text)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
