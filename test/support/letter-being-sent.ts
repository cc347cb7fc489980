import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Replay } from '../../src/ports/replays.ts'
import type { Store } from '../../src/ports/store.ts'
import { cancelReplay, startReplay } from '../../src/replay/control.ts'
import { planReplay } from '../../src/replay/plan.ts'

/** Starts a replay of the letter. A process of the fleet takes the letter, and does not answer. */
export async function startSending(store: Store, letter: DeadLetter, clock: Clock): Promise<string> {
  const request = { ids: [letter.id], reason: 'fixed', by: 'ann' }
  const { id } = await planReplay(store, request, { clock, newId: () => 'r' })
  await startReplay(store, id, { by: 'ann', clock })
  const at = clock.now()
  await store.deadLetters.change(letter.id, { to: 'replaying', at, replayId: id })
  const [item] = await store.replays.items(id)
  await store.replays.record(id, [{ ...item!, status: 'sent', cycle: 1, sentAt: at, delivery: 'd' }])
  const task = { kind: 'deliver', replay: id, delivery: 'd' }
  await store.commands!.send(
    [{ v: 1, id: 'd', request: 'd', task, recipients: ['one'], by: 'server' }],
    2_500,
  )
  await store.commands!.claim('one', 1)
  return id
}

/** Cancels a replay of the letter while a process of the fleet has it. */
export async function cancelWhileSending(store: Store, letter: DeadLetter, clock: Clock): Promise<Replay> {
  const id = await startSending(store, letter, clock)
  return await cancelReplay(store, id, { by: 'ann', clock })
}
