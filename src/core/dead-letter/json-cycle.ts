import { isCategory } from '../failure/classification.ts'
import type { Category } from '../failure/failure.ts'
import type { Fingerprint } from '../failure/fingerprint.ts'
import type { Faults } from '../options/faults.ts'
import type { AttemptFailure, AttemptRecord, Cycle, CycleFailure, EveryField } from './letter.ts'
import { Reader } from './reader.ts'
import type { Reason } from './reason.ts'

export function readCycle(value: unknown, path: string, faults: Faults): Cycle {
  const reader = new Reader(value, path, faults)
  return {
    number: reader.number('number'),
    // A newer version may have written a reason that this version does not know. The letter stays readable; only the text
    // of the reason is missing.
    reason: reader.text('reason') as Reason,
    category: readCategory(reader),
    failure: reader.optionalGroup('failure', readCycleFailure),
    attempts: reader.list('attempts', readAttempt),
    attemptCount: reader.number('attemptCount'),
    firstFailedAt: reader.number('firstFailedAt'),
    lastFailedAt: reader.number('lastFailedAt'),
    replayId: reader.optionalText('replayId'),
    replayedBy: reader.optionalText('replayedBy'),
    endedAt: reader.optionalNumber('endedAt'),
    ...readUnverified(reader),
  } satisfies EveryField<Cycle, 'isUnverified' | 'otherReplayIds'>
}

function readUnverified(reader: Reader): Pick<Cycle, 'isUnverified' | 'otherReplayIds'> {
  if (!reader.optional('isUnverified', isTrue, 'give true, or leave it out')) return {}
  const otherReplayIds = reader.optional(
    'otherReplayIds',
    areTexts,
    'give a list of strings, or leave it out',
  )
  return { isUnverified: true, ...(otherReplayIds === undefined ? {} : { otherReplayIds }) }
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}

export function isTrue(value: unknown): value is true {
  return value === true
}

function readAttempt(value: unknown, path: string, faults: Faults): AttemptRecord {
  const reader = new Reader(value, path, faults)
  return {
    number: reader.number('number'),
    startedAt: reader.number('startedAt'),
    endedAt: reader.optionalNumber('endedAt'),
    failure: reader.optionalGroup('failure', readAttemptFailure),
    delayMs: reader.optionalNumber('delayMs'),
  }
}

function readAttemptFailure(value: unknown, path: string, faults: Faults): AttemptFailure {
  const reader = new Reader(value, path, faults)
  return { ...readSummary(reader), fingerprint: reader.text('fingerprint') }
}

function readCycleFailure(value: unknown, path: string, faults: Faults): CycleFailure {
  const reader = new Reader(value, path, faults)
  return { ...readSummary(reader), fingerprint: reader.group('fingerprint', readFingerprint) }
}

function readSummary(reader: Reader): Omit<AttemptFailure, 'fingerprint'> {
  return {
    name: reader.text('name'),
    message: reader.text('message'),
    code: reader.optionalText('code'),
    category: readCategory(reader),
    stack: reader.optionalText('stack'),
  }
}

function readFingerprint(value: unknown, path: string, faults: Faults): Fingerprint {
  const reader = new Reader(value, path, faults)
  // Unknown rules and versions are kept as they are, because nothing compares ids of two versions.
  return {
    id: reader.text('id'),
    rule: reader.text('rule') as Fingerprint['rule'],
    version: reader.number('version') as Fingerprint['version'],
    basis: reader.text('basis'),
  }
}

function readCategory(reader: Reader): Category {
  const category = reader.text('category')
  return isCategory(category) ? category : 'unknown'
}
