import type { AlertFacts, AlertKind, AlertSeverity, Occurrence } from '../../core/alert/alert.ts'
import type { AlertInput } from '../../core/alert/decide.ts'
import { spanText } from '../../core/alert/span-text.ts'
import { groupingForDisplay } from '../../core/dead-letter/event-masks.ts'
import { type FailedEvent, failedEvent } from '../../core/dead-letter/failed-event.ts'
import { type Grouping, groupingOf } from '../../core/dead-letter/group.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { hash128 } from '../../core/hash.ts'
import type { ChannelNotice, Notice } from '../../ports/notifier.ts'
import { type StoreNotice, storeAlertTexts } from './store-alert-texts.ts'

const MAX_TITLE = 200
const MAX_TEXT = 1_000
/** The receivers of targets accept keys of at most 255 characters. */
const MAX_KEY = 200

export const SEVERITY_OF: Readonly<Record<AlertKind, AlertSeverity>> = {
  dead_letter: 'error',
  poison_quarantined: 'error',
  breaker_opened: 'critical',
  letters_spilled: 'critical',
  channel_alert: 'warning',
  group_regressed: 'warning',
  replay_halted: 'warning',
  replay_needs_approval: 'warning',
  letters_expiring: 'warning',
  alert_undelivered: 'error',
  digest: 'error',
}

type LetterNotice = Extract<Notice, { readonly kind: 'dead_letter' | 'poison_quarantined' }>

/** The input for the alert decision that a notice becomes, and the group of letters that can mute it. */
export interface Meaning {
  readonly input: Extract<AlertInput, { readonly what: 'seen' | 'over' }>
  readonly group: string | undefined
}

/** The facts of an open alert, if they are recent enough for the next occurrence. */
type Recall = (key: string) => AlertFacts | undefined

/** Turns notices into inputs for the alert decision. Only this class masks and cuts the texts of alerts. */
export class Occurrences {
  readonly #masks: Masks
  readonly #service: string | undefined
  readonly #recall: Recall

  constructor(masks: Masks, service: string | undefined, recall: Recall = () => undefined) {
    this.#masks = masks
    this.#service = service
    this.#recall = recall
  }

  of(notice: Notice): Meaning {
    switch (notice.kind) {
      case 'dead_letter':
      case 'poison_quarantined':
        return this.#letter(notice)
      case 'breaker_opened':
        return this.#seen('breaker_opened', [notice.name], this.#breaker(notice.name))
      case 'breaker_closed':
        return this.#over('breaker_opened', [notice.name])
      case 'letters_spilled':
        return this.#seen('letters_spilled', [], this.#spill(notice.error))
      case 'spill_drained':
        return this.#over('letters_spilled', [])
      case 'channel_alert':
        return this.#channel(notice)
      case 'group_regressed':
      case 'replay_halted':
      case 'replay_needs_approval':
      case 'letters_expiring':
        return this.#stored(notice)
    }
  }

  /** A target of the notifier does not accept alerts. */
  undelivered(target: string, error: string | undefined): Occurrence {
    const why = error === undefined ? '' : `: ${this.#text(error)}`
    const facts = {
      title: this.#title(`Alerts do not reach ${target}`),
      summary: `An alert to ${target} failed and is now a dead letter; replay it${why}`,
      target,
    }
    return this.#occurrence('alert_undelivered', [target], facts)
  }

  keyOfTarget(target: string): string {
    return this.#key('alert_undelivered', [target])
  }

  #letter(notice: LetterNotice): Meaning {
    const { kind, letter } = notice
    const grouping = groupingOf(letter)
    const parts = [letter.channel, letter.handler, grouping.id]
    // Describing a letter costs more than counting it. In a storm of letters the previous description is still right.
    const facts = this.#recall(this.#key(kind, parts)) ?? this.#letterFacts(notice, grouping)
    return this.#seen(kind, parts, facts, grouping.id)
  }

  #letterFacts({ kind, letter }: LetterNotice, grouping: Grouping): AlertFacts {
    const failed = this.#failed(failedEvent(letter, this.#masks))
    const { channel, handler, eventId, type, attempts, lastError } = failed
    const isPoison = kind === 'poison_quarantined'
    const became = isPoison ? 'quarantined as poison' : 'given up on'
    const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
    return {
      title: this.#title(
        `${isPoison ? 'Poison' : 'Dead letters'} in ${channel}: ${groupingForDisplay(letter, this.#masks).title}`,
      ),
      summary: this.#text(
        `Event ${eventId} (${type}) was ${became} by ${handler} after ${tries}: ${lastError ?? failed.reason}`,
      ),
      channel,
      handler,
      group: grouping.id,
      failed,
    }
  }

  #failed(failed: FailedEvent): FailedEvent {
    const { eventId, type, source, lastError } = failed
    return {
      ...failed,
      eventId: this.#text(eventId),
      type: this.#text(type),
      source: source && this.#text(source),
      lastError: lastError && this.#text(lastError),
    }
  }

  #breaker(name: string): AlertFacts {
    return {
      title: this.#title(`Breaker ${name} is open`),
      summary: `The dependency of ${name} is failing; attempts are paused until a probe succeeds.`,
      breaker: name,
    }
  }

  #spill(error: string): AlertFacts {
    return {
      title: 'Dead letters spilled',
      summary: this.#text(`Their store did not accept them, so they are in a local spill: ${error}`),
    }
  }

  #channel(notice: ChannelNotice): Meaning {
    const { channel, store, rule, value, limit, error } = notice
    const group = error?.fingerprint
    // Each alert ends by itself, so the key has the rule, the group and the store: another store may have a channel of
    // the same name.
    const parts = [channel, rule, group, store].filter(part => part !== undefined)
    const where = store === undefined ? channel : `${channel} in ${store}`
    const facts: AlertFacts = {
      title: this.#title(`Channel ${where}: ${channelWords(notice)}`),
      summary: this.#text(`${channelWords(notice)}; the limit is ${limitWords(rule, limit)}.`),
      channel,
      group,
      limit: { rule, value, limit },
    }
    return this.#lasting(notice, parts, facts)
  }

  /** An alert about a group, a replay or the retention of a store. */
  #stored(notice: StoreNotice): Meaning {
    const { id, title, summary, ...facts } = storeAlertTexts(notice)
    const parts = notice.store === undefined ? [id] : [id, notice.store]
    const where = notice.store === undefined ? '' : ` in ${notice.store}`
    const texts = { title: this.#title(`${title}${where}`), summary: this.#text(summary) }
    return this.#lasting(notice, parts, { ...texts, ...facts })
  }

  /** The begin or the end of an alert that the server reports. */
  #lasting(notice: ChannelNotice | StoreNotice, parts: readonly string[], facts: AlertFacts): Meaning {
    const { kind, firing, toldSince } = notice
    const seen = this.#seen(kind, parts, facts, facts.group)
    if (firing) return seen
    const { occurrence } = seen.input
    const elsewhere = toldSince === undefined ? undefined : { since: toldSince, occurrence }
    return { input: { what: 'over', key: occurrence.key, by: 'recovery', elsewhere }, group: facts.group }
  }

  #seen(kind: AlertKind, parts: readonly string[], facts: AlertFacts, group?: string) {
    return { input: { what: 'seen', occurrence: this.#occurrence(kind, parts, facts) }, group } as const
  }

  #over(kind: AlertKind, parts: readonly string[]): Meaning {
    return { input: { what: 'over', key: this.#key(kind, parts), by: 'recovery' }, group: undefined }
  }

  #occurrence(kind: AlertKind, parts: readonly string[], facts: AlertFacts): Occurrence {
    return { key: this.#key(kind, parts), kind, severity: SEVERITY_OF[kind], facts }
  }

  /** Two different lists of parts never get the same key, whatever characters they contain. */
  #key(kind: AlertKind, parts: readonly string[]): string {
    const service = this.#service === undefined ? [] : [this.#service]
    const text = [...service, kind, ...parts].map(part => encodeURIComponent(part.toWellFormed())).join('/')
    return text.length <= MAX_KEY ? text : `${kind}/${hash128(text)}`
  }

  #title(text: string): string {
    return cut(this.#masks.maskText(text).replace(/\s+/g, ' '), MAX_TITLE)
  }

  #text(text: string): string {
    return cut(this.#masks.maskText(text), MAX_TEXT)
  }
}

function channelWords({ rule, value, error }: ChannelNotice): string {
  if (rule === 'depth') return `${value} dead letters waiting`
  if (rule === 'age') return `oldest dead letter has waited ${spanText(value)}`
  if (rule === 'rate') return `${value} events became dead letters within an hour`
  return `${percent(value)} of its dead letters have one error, ${error?.name ?? 'unknown'}`
}

function limitWords(rule: ChannelNotice['rule'], limit: number): string {
  if (rule === 'depth' || rule === 'rate') return String(limit)
  return rule === 'age' ? spanText(limit) : percent(limit)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function cut(text: string, longest: number): string {
  const whole = text.toWellFormed()
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).toWellFormed()}…`
}
