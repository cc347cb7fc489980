import { link, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../../test/support/folder.ts'
import { systemClock } from '../../../ports/clock.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { realFiles } from './files.ts'
import { FolderLock } from './lock.ts'
import { describeSelf, type Owner, registerOwner, removeDeadOwners, unregisterOwner } from './owner.ts'

const DEAD_PID = 2 ** 22 + 1
const HELD = 'writing.held'

async function newLock(dir: string, id: string, change: Partial<Owner> = {}, clock = systemClock) {
  const self = { ...(await describeSelf(realFiles, id)), ...change }
  await registerOwner(realFiles, dir, self)
  return new FolderLock(realFiles, clock, dir, 'writing', self)
}

/** A process takes the lock and never answers again. */
async function dieWithLock(
  dir: string,
  id: string,
  change: Partial<Owner> = { pid: DEAD_PID },
): Promise<void> {
  await (await newLock(dir, id, change)).acquire()
}

describe('the lock of a folder', () => {
  it('E10: one holder at a time, and each who waits gets it', async () => {
    await withTempFolder(async dir => {
      let holders = 0
      let turns = 0
      await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const lock = await newLock(dir, `owner-${index}`)
          for (let round = 0; round < 5; round++) {
            await lock.acquire()
            expect(++holders).toBe(1)
            await readdir(dir)
            holders--
            turns++
            await lock.release()
          }
        }),
      )
      expect(turns).toBe(40)
    })
  })

  it('E10: the lock of a holder that died is taken over, and the next is told', async () => {
    await withTempFolder(async dir => {
      await dieWithLock(dir, 'dead')
      const lock = await newLock(dir, 'alive')
      expect(await lock.acquire()).toEqual({ mustRecheck: true })
      await lock.release()
      expect(await lock.acquire()).toEqual({ mustRecheck: false })
    })
  })

  it('E10: of many who find a dead holder, also one after the other, never two hold the lock', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 3 }), (contenders, deaths) =>
        withTempFolder(async dir => {
          await dieWithLock(dir, 'dead-0')
          // The heir of the first dies while it takes over, and so on.
          for (let death = 1; death < deaths; death++) {
            await newLock(dir, `dead-${death}`, { pid: DEAD_PID })
            await link(join(dir, `owner.dead-${death}`), join(dir, `writing.after.dead-${death - 1}`))
          }
          let holders = 0
          await Promise.all(
            Array.from({ length: contenders }, async (_, index) => {
              const lock = await newLock(dir, `alive-${index}`)
              for (let round = 0; round < 3; round++) {
                await lock.acquire()
                expect(++holders).toBe(1)
                await readdir(dir)
                holders--
                await lock.release()
              }
            }),
          )
          expect((await readdir(dir)).filter(name => name.includes('.after.') || name === HELD)).toEqual([])
        }),
      ),
      { numRuns: 20 },
    )
  })

  it('E10: a holder of which nothing can be known is believed gone when it stands still, not before', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock()
      await dieWithLock(dir, 'elsewhere', { host: 'another-machine', boot: 'another-boot' })
      const lock = await newLock(dir, 'alive', {}, clock)
      let held = false
      const acquired = lock.acquire().then(() => {
        held = true
      })
      // Time passes only when it waits, so this counts waits and not real time.
      let waited = 0
      while (!held && waited < 40_000) {
        if (await clock.step()) waited = clock.now() - new FakeClock().now()
      }
      await acquired
      expect(waited).toBeGreaterThanOrEqual(30_000)
      expect(waited).toBeLessThan(31_000)
    })
  })

  it.each([60_000, -60_000])(
    'E10: such a holder stands still by time that passes, not by a clock set by %i ms',
    async ms => {
      await withTempFolder(async dir => {
        const clock = new FakeClock()
        await dieWithLock(dir, 'elsewhere', { host: 'another-machine', boot: 'another-boot' })
        const lock = await newLock(dir, 'alive', {}, clock)
        let isHeld = false
        void lock.acquire().then(() => {
          isHeld = true
        })
        for (let step = 0; !isHeld && step < 20_000; ) {
          if (!(await clock.step())) continue
          if (step++ === 10) clock.jump(ms)
        }
        expect(clock.monotonic()).toBeGreaterThanOrEqual(30_000)
        expect(clock.monotonic()).toBeLessThan(31_000)
      })
    },
  )

  it('E10: two holders of which nothing can be known, the second one in the place of the first, are both replaced', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock()
      const unknown = { host: 'another-machine', boot: 'another-boot' }
      await dieWithLock(dir, 'first', unknown)
      // The second one ended while it took the lock over.
      await newLock(dir, 'second', unknown)
      await link(join(dir, 'owner.second'), join(dir, 'writing.after.first'))
      const lock = await newLock(dir, 'alive', {}, clock)
      let isHeld = false
      void lock.acquire().then(() => {
        isHeld = true
      })
      for (let step = 0; !isHeld && step < 20_000; ) if (await clock.step()) step++
      expect(isHeld).toBe(true)
      expect(clock.now() - new FakeClock().now()).toBeLessThan(62_000)
    })
  })

  it('E10: a running holder keeps it; a process that waits too long gets an error that names the holder', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock()
      await (await newLock(dir, 'busy')).acquire()
      const lock = await newLock(dir, 'waiting', {}, clock)
      const failure = lock.acquire().catch(error => error)
      let error: unknown
      void failure.then(failed => {
        error = failed
      })
      for (let step = 0; error === undefined && step < 10_000; ) if (await clock.step()) step++
      expect(error).toMatchObject({ code: 'LAZARET_STORE_LOCKED', path: join(dir, HELD) })
      expect((error as Error).message).toContain(`process ${process.pid}`)
    })
  })

  it('E10: a holder that stood still so long that it was replaced leaves the lock to its successor', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock()
      const slow = await newLock(dir, 'slow', {}, clock)
      await newLock(dir, 'successor')
      await slow.acquire()
      clock.jump(60_000)
      await link(join(dir, 'owner.successor'), join(dir, 'successor'))
      await rename(join(dir, 'successor'), join(dir, HELD))
      expect(await slow.isHeld()).toBe(false)
      await slow.release()
      expect(await readdir(dir)).toContain(HELD)
    })
  })

  it('E10: the folder of the lock may be tidied away under a process that uses it', async () => {
    await withTempFolder(async dir => {
      const lock = await newLock(dir, 'tidied')
      await rm(join(dir, 'owner.tidied'))
      expect(await lock.acquire()).toEqual({ mustRecheck: true })
      await lock.release()
      expect(await lock.acquire()).toEqual({ mustRecheck: false })
    })
  })

  it('E10: what processes that died have left is swept away; a living one is let be', async () => {
    await withTempFolder(async dir => {
      await newLock(dir, 'dead', { pid: DEAD_PID })
      await newLock(dir, 'alive')
      const self = await describeSelf(realFiles, 'self')
      await registerOwner(realFiles, dir, self)
      await removeDeadOwners(realFiles, dir, self)
      expect((await readdir(dir)).sort()).toEqual(['owner.alive', 'owner.self'])
      await unregisterOwner(realFiles, dir, self)
      expect(await readdir(dir)).toEqual(['owner.alive'])
    })
  })
})
