import { join } from 'node:path'
import { type Clock, delay, monotonicNow } from '../../../ports/clock.ts'
import { StoreLockedError } from '../errors.ts'
import { codeOf, type Files, ignoringCode, makeSubfolder, readWhole } from './files.ts'
import { livenessOf, type Owner, ownerPath, parseOwner, registerOwner } from './owner.ts'

/**
 * A lock is held for a few writes only. A holder of unknown state that does not change the lock for this time counts as
 * dead.
 */
const STUCK_MS = 30_000
const FIRST_WAIT_MS = 1
const MAX_WAIT_MS = 8
/** After this time without a change, waiters check less often. */
const SLOW_AFTER_MS = 1_000
const SLOW_WAIT_MS = 64

/** A power failure can leave a link to an empty file. Then nothing is known about the holder. */
const UNKNOWN_OWNER: Owner = Object.freeze({ id: 'unreadable', pid: 0, host: 'an unknown machine' })

/**
 * One holder at a time among all processes that open a folder. It needs nothing but hard links, which exist once or not
 * at all: the holder's own file is linked as `<name>.held`, and unlinked when the lock is released.
 *
 * A holder that died leaves its link behind. The process that finds it links `<name>.after.<id of the dead>`, which
 * again only one can, and thereby holds the lock in its place; should that one die too, there is a place after it in
 * turn. It counts only if the first link is still that of the dead: the heir before may have released it in between.
 * The heir then puts its own link in the place of the first, and only after that removes the others, so that at no
 * moment a dead holder looks as if it had no heir.
 *
 * A waiting process creates `<name>.wanted`; a busy holder checks for that file from time to time and releases the
 * lock.
 */
export class FolderLock {
  readonly #files: Files
  readonly #clock: Clock
  readonly #self: Owner
  readonly #folder: string
  readonly #name: string
  readonly #held: string
  readonly #requireStore: () => Promise<void>
  #since = 0
  #mustRecheck = false

  /** `requireStore` rejects if the folder of the store is gone. Then the lock creates nothing in its place. */
  constructor(
    files: Files,
    clock: Clock,
    folder: string,
    name: string,
    self: Owner,
    requireStore: () => Promise<void> = async () => {},
  ) {
    this.#files = files
    this.#clock = clock
    this.#self = self
    this.#folder = folder
    this.#name = name
    this.#held = this.#pathOf('held')
    this.#requireStore = requireStore
  }

  /**
   * Resolves when the lock is held. `mustRecheck` is true if the previous holder died, or the lock is not as it was left.
   */
  async acquire(): Promise<{ readonly mustRecheck: boolean }> {
    const stall = new StallTimer(this.#clock)
    for (;;) {
      if ((await this.#link(this.#held)) || (await this.#takeOver(stall))) {
        this.#since = this.#clock.now()
        const mustRecheck = this.#mustRecheck
        this.#mustRecheck = false
        return { mustRecheck }
      }
      await this.#want()
      await stall.wait()
    }
  }

  async release(): Promise<void> {
    // After a pause of this length another process may have replaced this holder. The lock then belongs to that process.
    const mayBeReplaced = this.#clock.now() - this.#since >= STUCK_MS / 2
    if (mayBeReplaced && !(await this.isHeld())) return
    // If the link cannot be removed, the lock stays ours, and the next `acquire` finds that.
    await this.#files.remove(this.#held).catch(() => {})
  }

  /**
   * Whether no other process has replaced this holder, as happens when a container stands still for too long. On a full disk
   * the owner's file is empty, so the files are compared and not what they say.
   */
  async isHeld(): Promise<boolean> {
    const [held, own] = await Promise.all(
      [this.#held, ownerPath(this.#folder, this.#self.id)].map(path =>
        ignoringCode('ENOENT', () => this.#files.identify(path)),
      ),
    )
    return held !== undefined && held === own
  }

  /** Whether another process waits for the lock. The call removes the request, because a waiting process renews it. */
  async isWanted(): Promise<boolean> {
    return this.#files.remove(this.#pathOf('wanted')).then(
      () => true,
      () => false,
    )
  }

  async #takeOver(stall: StallTimer): Promise<boolean> {
    const first = await this.#ownerOf(this.#held)
    let link = this.#held
    for (let holder = first; holder !== undefined; holder = await this.#ownerOf(link)) {
      if (holder.id !== this.#self.id) {
        if (!(await this.#isGone(holder, link, stall))) return false
        link = this.#pathOf(`after.${holder.id}`)
        if (!(await this.#link(link))) continue
      }
      if ((await this.#ownerOf(this.#held))?.id === first?.id) {
        await this.#replaceDeadHolder()
        return true
      }
      await ignoringCode('ENOENT', () => this.#files.remove(link))
      return false
    }
    return false
  }

  /** The new link decides: every other process that tries to replace the dead holder finds that it lost. */
  async #replaceDeadHolder(): Promise<void> {
    this.#mustRecheck = true
    const successor = this.#pathOf(`successor.${this.#self.id}`)
    await ignoringCode('EEXIST', () => this.#files.link(ownerPath(this.#folder, this.#self.id), successor))
    await this.#files.rename(successor, this.#held)
    for (const name of await this.#files.list(this.#folder)) {
      const isStale = name.startsWith(`${this.#name}.after.`) || name.startsWith(`${this.#name}.successor.`)
      if (isStale) await this.#files.remove(join(this.#folder, name)).catch(() => {})
    }
  }

  async #isGone(holder: Owner, link: string, stall: StallTimer): Promise<boolean> {
    const liveness = await livenessOf(this.#files, holder, this.#self)
    if (liveness === 'dead') return true
    // Acquiring and releasing both change the mark. An unchanged mark means one single hold.
    const mark = await ignoringCode('ENOENT', () => this.#files.mark(link))
    if (mark === undefined || stall.unchangedMs(link, mark) < STUCK_MS) return false
    if (liveness === 'unknown') return true
    throw new StoreLockedError(link, `process ${holder.pid} on ${holder.host}`, STUCK_MS)
  }

  async #link(path: string): Promise<boolean> {
    try {
      await this.#files.link(ownerPath(this.#folder, this.#self.id), path)
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      if (codeOf(error) !== 'ENOENT') throw error
      // The owner's file was removed. It is written again, and the lock is tried again.
      this.#mustRecheck = true
      await this.#requireStore()
      await makeSubfolder(this.#files, this.#folder)
      await registerOwner(this.#files, this.#folder, this.#self)
      return false
    }
  }

  async #ownerOf(link: string): Promise<Owner | undefined> {
    const bytes = await ignoringCode('ENOENT', () => readWhole(this.#files, link))
    return bytes && (parseOwner(bytes.toString()) ?? UNKNOWN_OWNER)
  }

  #pathOf(what: string): string {
    return join(this.#folder, `${this.#name}.${what}`)
  }

  async #want(): Promise<void> {
    await this.#files.close(await this.#files.open(this.#pathOf('wanted'), 'a'))
  }
}

/**
 * Measures how long a process has waited, and how long each link of the lock has not changed. It uses the clock that never steps:
 * set forward, the wall clock would make a living holder look gone.
 */
class StallTimer {
  readonly #clock: Clock
  readonly #marks = new Map<string, { readonly mark: string; readonly since: number }>()
  #waitMs = FIRST_WAIT_MS
  #changedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  unchangedMs(link: string, mark: string): number {
    const now = monotonicNow(this.#clock)
    const known = this.#marks.get(link)
    if (known?.mark === mark) return now - known.since
    this.#marks.set(link, { mark, since: now })
    this.#changedAt = now
    this.#waitMs = FIRST_WAIT_MS
    return 0
  }

  async wait(): Promise<void> {
    await delay(this.#clock, this.#waitMs)
    const isPatient = this.#marks.size > 0 && monotonicNow(this.#clock) - this.#changedAt > SLOW_AFTER_MS
    this.#waitMs = Math.min(isPatient ? SLOW_WAIT_MS : MAX_WAIT_MS, this.#waitMs * 2)
  }
}
