import type { LazaretEvent } from '../../../core/event/event.ts'
import { severityOf } from '../severity.ts'
import { LEVELS, messageOf, shownPayload } from './event.ts'

const MAX_DATA_CHARACTERS = 2_000

/** The latest events that are not errors, to be shown with the next error. A repeated event is there once. */
export class Breadcrumbs {
  readonly #max: number
  /** The breadcrumbs by event id, the oldest first. */
  readonly #crumbs = new Map<string, object>()

  constructor(max: number) {
    this.#max = max
  }

  add(event: LazaretEvent, showsPayload: boolean): void {
    if (this.#max === 0 || this.#crumbs.has(event.id)) return
    this.#crumbs.set(event.id, breadcrumbOf(event, showsPayload))
    if (this.#crumbs.size > this.#max) this.#crumbs.delete(this.#crumbs.keys().next().value!)
  }

  get list(): readonly object[] {
    return [...this.#crumbs.values()]
  }
}

function breadcrumbOf(event: LazaretEvent, showsPayload: boolean): object {
  const { id, channel, key, occurredAt, payload } = event
  return {
    type: 'default',
    timestamp: occurredAt / 1_000,
    category: event.type,
    level: LEVELS[severityOf(event)],
    message: messageOf(event),
    data: {
      id,
      channel,
      ...(key !== undefined && { key }),
      ...(showsPayload && isSmall(payload) && { payload: shownPayload(payload) }),
    },
  }
}

/** A hundred crumbs with large payloads would make an event larger than Sentry takes. */
function isSmall(payload: unknown): boolean {
  return payload !== null && JSON.stringify(shownPayload(payload)).length <= MAX_DATA_CHARACTERS
}
