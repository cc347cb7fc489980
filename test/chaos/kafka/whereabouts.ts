import { type HeldState, readHeld } from '../../../src/adapters/kafka/broker/ordered/held-record.ts'
import { headerText, OWN } from '../../../src/adapters/kafka/broker/wire/headers.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { OutsideKafka } from '../../support/outside-kafka.ts'
import { CHANNEL, HANDLER } from '../cluster/plan.ts'

const GROUP = `${CHANNEL}.${HANDLER}`
const MOST_KEYS = 30

interface Place {
  readonly partition: number
  readonly offset: number
}

/** Says where the events are that are neither handled nor dead, key by key. For a campaign that stands still. */
export async function findMissing(
  outside: OutsideKafka,
  events: readonly LazaretEvent[],
  isOver: (id: string) => boolean,
): Promise<readonly string[]> {
  const missing = Map.groupBy(
    events.filter(({ id }) => !isOver(id)),
    ({ key }) => key ?? '',
  )
  const places = new Map<string | undefined, Place>()
  for (const record of await outside.records(CHANNEL)) places.set(headerText(record.headers, 'ce_id'), record)
  const held = await heldStates(outside)
  const isSettled = await settlements(outside)
  const lines = [...missing].slice(0, MOST_KEYS).map(([key, [first, ...rest]]) => {
    const line = held.filter(each => each.line === key).toSorted((a, b) => a.place - b.place)
    const place = places.get(first!.id)
    const where =
      place === undefined
        ? 'not in the channel'
        : `at ${place.partition}/${place.offset}, ${isSettled(place) ? 'settled' : 'not settled'}`
    const state = line.find(({ id }) => id === first!.id)?.state ?? 'not held'
    const head = line[0]
    const front =
      head === undefined
        ? 'nothing of the key is held'
        : `in front ${head.id} (${head.state}, ${isOver(head.id) ? 'over' : 'missing'})`
    return `${key}: ${rest.length + 1} missing; first ${first!.id} ${where}, ${state}; ${front}; ${line.length} held`
  })
  const count = [...missing.values()].flat().length
  return [
    `${count} events of ${missing.size} keys are missing`,
    ...lines,
    ...(await findLeft(outside, isOver)),
  ]
}

/** What the handler has not settled, although it may be over. */
async function findLeft(outside: OutsideKafka, isOver: (id: string) => boolean): Promise<readonly string[]> {
  const over = (id: string) => (isOver(id) ? 'over' : 'missing')
  const history = Map.groupBy(
    await outside.records(`${GROUP}.held`),
    ({ partition, key }) => `${partition} ${key}`,
  )
  const waiting = [...history].flatMap(([key, records]) => {
    const last = readHeld(records.at(-1)!)
    if (last?.state !== 'waiting') return []
    const states = records.map(
      each => `${each.offset} ${readHeld(each)?.state ?? 'resolved'} ${each.timestamp}`,
    )
    return `held ${key}: ${last.id} (${over(last.id)}) of key ${last.line}: ${states.join(', ')}`
  })
  const read = (await outside.admin.listTopics()).filter(
    name => name === CHANNEL || name.startsWith(`${GROUP}.retry.`),
  )
  const open = await Promise.all(
    read.map(async topic => {
      const isSettled = await settlements(outside, topic)
      const records = (await outside.records(topic)).filter(record => !isSettled(record))
      return records.map(({ partition, offset, headers }) => {
        const id = headerText(headers, 'ce_id') ?? headerText(headers, OWN.unblockKey) ?? ''
        return `${topic} ${partition}/${offset}: ${id} (${over(id)}), not settled`
      })
    }),
  )
  return [...waiting.slice(0, MOST_KEYS), ...open.flat().slice(0, MOST_KEYS)]
}

/** The latest state of every held event. */
async function heldStates(outside: OutsideKafka): Promise<readonly HeldState[]> {
  const states = new Map<string, HeldState>()
  for (const record of await outside.records(`${GROUP}.held`)) {
    const key = `${record.partition} ${record.key}`
    const state = readHeld(record)
    if (state === undefined) states.delete(key)
    else states.set(key, state)
  }
  return [...states.values()]
}

/** Whether the group has committed that a record of a topic is settled. */
async function settlements(outside: OutsideKafka, topic = CHANNEL) {
  const stored = await outside.progress(GROUP, topic)
  return ({ partition, offset }: Place): boolean => {
    const { position = 0, settled = [] } = stored.get(partition) ?? {}
    return offset < position || settled.some(([from, to]) => from <= offset && offset < to)
  }
}
