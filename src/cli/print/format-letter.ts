import { allCycles } from '../../core/dead-letter/cycles.ts'
import { groupingForDisplay, masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { AttemptRecord, Cycle, DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskEvent, maskFacts } from '../../core/dead-letter/mask-letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { reasonText } from '../../core/dead-letter/reason.ts'
import type { JsonValue } from '../../core/event/event.ts'
import { eventToJson } from '../../core/event/json.ts'
import { counted, fieldLines, heading } from './fields.ts'
import { safeText } from './safe-text.ts'
import { type Paint, stateColour } from './style.ts'
import { iso, isoAndRelative, spanText } from './times.ts'

interface LetterFormatOptions {
  readonly masks: Masks
  readonly isRevealed: boolean
  readonly now: number
  readonly paint: Paint
}

/** Formats a letter for a person: origin, reason, every attempt of every cycle, and the payload. */
export function formatLetter(letter: DeadLetter, options: LetterFormatOptions): string {
  const { now, paint } = options
  const { event, cycle, origin } = letter
  const masks = masksOfLetter(letter, options.masks)
  const say = (text: string) => safeText(masks.maskText(text))
  const grouping = groupingForDisplay(letter, options.masks)
  const replays =
    letter.replays === 0
      ? '0'
      : `${letter.replays}${letter.replayId === undefined ? '' : `, latest ${letter.replayId}`}`
  const origins = Object.entries(origin).map(([name, value]) => `${name} ${value}`)
  return [
    `${paint('bold', `dead letter ${letter.id}`)}  ${paint(stateColour(letter.state), letter.state)}\n`,
    fieldLines(
      [
        ['channel', `${safeText(letter.channel)}, handler ${safeText(letter.handler)}`],
        ['event', `${safeText(event.type)}  ${safeText(event.id)}`],
        ['key', event.key === undefined ? undefined : say(event.key)],
        ['occurred', isoAndRelative(event.occurredAt, now)],
        ['origin', origins.length === 0 ? undefined : say(origins.join(', '))],
        ['reason', `${safeText(cycle.reason)}: ${reasonText(cycle.reason)}`],
        ['failure', cycle.failure === undefined ? undefined : failureText(cycle.failure, say)],
        ['group', `${grouping.id}  by ${grouping.rule}: ${safeText(grouping.basis)}`],
        ['failed', isoAndRelative(cycle.lastFailedAt, now)],
        ['replays', replays],
        ['expires', expiryText(letter, now)],
        ['automatic replay', letter.autoReplay ? 'allowed' : undefined],
        ['order by key', orderText(letter)],
        ['detail', factsText('detail', letter, masks)],
        ['metadata', factsText('metadata', letter, masks)],
        ['job', letter.job],
        ['release', letter.release],
        ['host', letter.host],
      ],
      paint,
    ),
    ...cyclesOf(letter).map(each => cycleText(each, { ...options, masks })),
    ...payloadText(letter, options, masks),
  ].join('')
}

/** `masks` are the masks for texts about the event. */
function factsText(name: 'detail' | 'metadata', letter: DeadLetter, masks: Masks): string | undefined {
  const facts = letter[name]
  return facts && safeText(JSON.stringify(maskFacts(name, facts, masks)))
}

/** Only undecided letters with a key can block one. */
function orderText({ ordering, event, state }: DeadLetter): string | undefined {
  if (ordering !== 'by-key' || event.key === undefined) return undefined
  return state === 'resolved' || state === 'discarded' ? 'yes' : 'yes, later events of its key wait for it'
}

/** A letter without an expiry of its own is deleted as the retention of its store says. */
function expiryText({ expiresAt, expiresAfterMs }: DeadLetter, now: number): string {
  if (expiresAt !== undefined) return isoAndRelative(expiresAt, now)
  return expiresAfterMs === 'never' ? 'never' : 'by the retention of its store'
}

function cyclesOf(letter: DeadLetter): readonly (Cycle | number)[] {
  const [first, ...rest] = allCycles(letter)
  return letter.droppedCycles === 0 ? [first!, ...rest] : [first!, letter.droppedCycles, ...rest]
}

function cycleText(cycle: Cycle | number, { masks, paint }: LetterFormatOptions): string {
  if (typeof cycle === 'number') return heading(`… ${counted(cycle, 'cycle')} omitted …`, paint)
  const { number, attemptCount, attempts, replayId, replayedBy } = cycle
  const by = replayedBy === undefined ? '' : ` by ${safeText(replayedBy)}`
  const title =
    number === 0 ? 'First delivery' : `Replay ${number}${replayId === undefined ? '' : ` (${replayId})`}${by}`
  const left = attemptCount - attempts.length
  const lines = attempts.map(attempt => attemptText(attempt, masks, paint))
  if (left > 0) lines.splice(1, 0, `  … ${counted(left, 'attempt')} omitted …\n`)
  const ending = `reason ${safeText(cycle.reason)}, category ${cycle.category}`
  return heading(`${title}: ${counted(attemptCount, 'attempt')}; ${ending}`, paint) + lines.join('')
}

function attemptText(
  { number, startedAt, endedAt, failure, delayMs }: AttemptRecord,
  masks: Masks,
  paint: Paint,
): string {
  const say = (text: string) => safeText(masks.maskText(text))
  const took = endedAt === undefined ? '' : `after ${spanText(endedAt - startedAt)}`
  const what =
    endedAt === undefined
      ? paint('red', 'did not end: the process died during it')
      : failure === undefined
        ? 'succeeded'
        : failureText(failure, say)
  const wait = delayMs === undefined ? '' : paint('dim', `  then waited ${spanText(delayMs)}`)
  return `  ${number}. ${iso(startedAt)} ${took === '' ? '' : `${took}  `}${what}${wait}\n`
}

function failureText(
  {
    name,
    message,
    code,
    category,
  }: { name: string; message: string; code: string | undefined; category: string },
  say: (text: string) => string,
): string {
  // Most messages begin with their code already.
  const known = code === undefined || message.includes(code) ? '' : ` ${code}`
  return `${say(name)}${say(known)}: ${say(message)} (${category})`
}

/** `own` are the masks for texts about the event. */
function payloadText(
  { event }: DeadLetter,
  { masks, isRevealed, paint }: LetterFormatOptions,
  own: Masks,
): string[] {
  const shown = (isRevealed ? eventToJson(event) : maskEvent(event, masks, own)) as {
    readonly headers: Readonly<Record<string, string>>
    readonly payload?: JsonValue
    readonly payloadBase64?: string
  }
  const headers = Object.entries(shown.headers)
  const payload = shown.payloadBase64 ?? shown.payload
  return [
    headers.length === 0 ? '' : heading('Headers', paint),
    fieldLines(
      headers.map(([name, value]) => [safeText(name), safeText(value)]),
      paint,
    ),
    heading(isRevealed ? 'Payload (revealed)' : 'Payload (masked; --reveal shows all values)', paint),
    ...JSON.stringify(payload, null, 2)
      .split('\n')
      .map(line => `  ${safeText(line)}\n`),
  ]
}
