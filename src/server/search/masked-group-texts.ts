import type { Masks } from '../../core/dead-letter/masks.ts'
import { type GroupTexts, maskGroupTexts } from '../../operations/mask-group.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Group } from '../../ports/groups.ts'
import type { NamedStore } from '../stores/federation.ts'
import { TtlCache } from '../stores/ttl-cache.ts'

const CACHE_MS = 60_000
/** A masked search reads only the groups that were seen last. */
const MAX_SEARCHED = 1_000
const AT_ONCE = 50

/** The masked texts of groups. Masking reads a letter of the group, so the result is cached until the next letter. */
export class MaskedGroupTexts {
  readonly #masks: Masks
  readonly #cache: TtlCache

  constructor(masks: Masks, clock: Clock) {
    this.#masks = masks
    this.#cache = new TtlCache(clock)
  }

  textsOf({ name, store }: NamedStore, group: Group): Promise<GroupTexts> {
    const { id, lastSeenAt, count } = group
    return this.#cache.get(`${name} ${id} ${lastSeenAt} ${count}`, CACHE_MS, () =>
      maskGroupTexts(store, group, this.#masks),
    )
  }

  /** The groups whose masked texts contain the search text. */
  async search(named: NamedStore, groups: readonly Group[], search: string): Promise<readonly Group[]> {
    const wanted = search.toLowerCase()
    const found: Group[] = []
    for (let at = 0; at < Math.min(groups.length, MAX_SEARCHED); at += AT_ONCE) {
      const some = groups.slice(at, Math.min(at + AT_ONCE, MAX_SEARCHED))
      const texts = await Promise.all(some.map(group => this.textsOf(named, group)))
      for (const [index, { title, basis }] of texts.entries())
        if (`${title}\n${basis}`.toLowerCase().includes(wanted)) found.push(some[index]!)
    }
    return found
  }
}
