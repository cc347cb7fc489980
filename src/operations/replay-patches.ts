import { allCycles } from '../core/dead-letter/cycles.ts'
import type { MasksOfReplays } from '../core/dead-letter/event-masks.ts'
import { type HiddenValues, joinHidden, NOTHING_HIDDEN } from '../core/dead-letter/hidden-values.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { Replays } from '../ports/replays.ts'
import { hiddenInPatch } from './payload-masks.ts'

/**
 * The masked values that replays wrote into payloads. A letter keeps its original payload, but the error of a replay with an
 * edited payload can quote the edited one. Only the replay knows the edit.
 */
export class ReplayPatches {
  /** These masks hide the values of every replay that was read. */
  readonly masks: Masks
  readonly #plain: Masks
  readonly #replays: Pick<Replays, 'get'>
  readonly #hidden = new Map<string, HiddenValues>()
  readonly #reading = new Map<string, Promise<void>>()

  constructor(replays: Pick<Replays, 'get'>, masks: Masks) {
    this.#replays = replays
    this.#plain = masks
    const aware: MasksOfReplays = { ...masks, hiddenByReplays: letter => this.#hiddenFor(letter) }
    this.masks = masks.hidesNothing === true ? masks : aware
  }

  /** Reads the replays of the letters. Call it before the letters are masked. */
  async read(letters: readonly DeadLetter[]): Promise<void> {
    if (this.#plain.hidesNothing === true) return
    await Promise.all(letters.flatMap(replayIdsOf).map(id => this.#readOnce(id)))
  }

  #readOnce(id: string): Promise<void> {
    const known = this.#reading.get(id)
    if (known !== undefined) return known
    const reading = this.#replays.get(id).then(replay => {
      this.#hidden.set(id, hiddenInPatch(replay?.patch, this.#plain))
    })
    this.#reading.set(id, reading)
    return reading
  }

  #hiddenFor(letter: DeadLetter): HiddenValues {
    return joinHidden(...replayIdsOf(letter).map(id => this.#hidden.get(id) ?? NOTHING_HIDDEN))
  }
}

/** The masks for letters of a store, with the values that replays wrote into their payloads. */
export async function masksFor(
  { replays }: { readonly replays: Pick<Replays, 'get'> },
  letters: readonly DeadLetter[],
  masks: Masks,
): Promise<Masks> {
  const patches = new ReplayPatches(replays, masks)
  await patches.read(letters)
  return patches.masks
}

function replayIdsOf(letter: DeadLetter): readonly string[] {
  const ids = allCycles(letter).flatMap(({ replayId, otherReplayIds = [] }) => [replayId, ...otherReplayIds])
  return [...new Set([letter.replayId, ...ids])].filter(id => id !== undefined)
}
