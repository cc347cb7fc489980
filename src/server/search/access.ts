import type { Masks } from '../../core/dead-letter/masks.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Caller } from '../auth/caller.ts'
import type { Permissions } from '../auth/permissions.ts'
import type { NamedStore } from '../stores/federation.ts'

/** A console repeats its search after every change. The audit log records a repeated search once in this time. */
const AUDIT_EVERY_MS = 10 * 60_000
const MAX_REMEMBERED = 1_000

type SearchAction = 'letters.search' | 'groups.search'

/**
 * Decides who may search masked text: only callers who may reveal it. All others search the masked form, because a search
 * discloses whether a text occurs, and so could disclose a masked value character by character.
 */
export class SearchAccess {
  readonly #masks: Masks
  readonly #permissions: Permissions
  readonly #clock: Clock
  readonly #audited = new Map<string, number>()

  constructor(masks: Masks, permissions: Permissions, clock: Clock) {
    this.#masks = masks
    this.#permissions = permissions
    this.#clock = clock
  }

  /** Whether the caller may see masked values. */
  mayReveal(caller: Caller): boolean {
    return this.#masks.hidesNothing === true || this.#permissions.of(caller, 'letter.reveal').allowed
  }

  /** Records the search before the answer, like a reveal. Without masks there is nothing to record. */
  async audit(
    { name, store }: NamedStore,
    caller: Caller,
    action: SearchAction,
    texts: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (this.#masks.hidesNothing === true) return
    const now = this.#clock.now()
    const key = JSON.stringify([name, caller.name, action, texts])
    const before = this.#audited.get(key)
    if (before !== undefined && before <= now && now < before + AUDIT_EVERY_MS) return
    const target = action === 'letters.search' ? 'dead letters' : 'groups'
    await store.audit.append({ at: now, by: caller.name, action, target, detail: texts })
    if (this.#audited.size >= MAX_REMEMBERED) this.#audited.clear()
    this.#audited.set(key, now)
  }
}
