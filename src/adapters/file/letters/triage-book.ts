import { type GroupTalk, NO_TALK, talkAfter } from '../../../adapter-kit/query/group-query.ts'
import type { TriageChange } from '../../../ports/groups.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type JournalUser, UnreadableError } from '../journal/segment-set.ts'

const TRIAGE = 'triage'

export function triageRecord(group: string, change: TriageChange): JournalRecord {
  return { kind: TRIAGE, text: JSON.stringify({ group, change }) }
}

/** Every change that people made, one after the other, adds up to what they say now. */
export class TriageBook implements JournalUser {
  readonly #talks = new Map<string, GroupTalk>()

  of(group: string): GroupTalk {
    return this.#talks.get(group) ?? NO_TALK
  }

  apply({ kind, text }: JournalRecord): void {
    if (kind !== TRIAGE) return
    const { group, change } = parse(text)
    this.add(group, change)
  }

  add(group: string, change: TriageChange): void {
    this.#talks.set(group, talkAfter(this.of(group), change))
  }

  reset(): void {
    this.#talks.clear()
  }
}

function parse(text: string): { readonly group: string; readonly change: TriageChange } {
  const { group, change } = JSON.parse(text)
  if (typeof group === 'string' && typeof change === 'object' && change !== null) return { group, change }
  throw new UnreadableError('no change of a group')
}
