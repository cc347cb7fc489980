import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import {
  HOME,
  PEOPLE,
  type ServerWorld,
  secretOf,
  serverWorld,
  tokenOf,
} from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import { FakeClock } from '../testing/fake-clock.ts'

interface Message {
  readonly id?: string
  readonly event?: string
  readonly data?: unknown
}

/** A reader of the stream that reads when it is asked to. */
async function open({ server }: ServerWorld, headers: Record<string, string> = {}) {
  const response = await server.fetch(new Request(`${HOME}/api/v1/stream`, { headers }))
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    response,
    reader,
    /** One chunk, or undefined when the stream is over. */
    async read(): Promise<string | undefined> {
      const { done, value } = await reader.read()
      if (done) return undefined
      const chunk = decoder.decode(value)
      text += chunk
      return chunk
    },
    async messages(count: number): Promise<Message[]> {
      while (parse(text).length < count) if ((await this.read()) === undefined) break
      return parse(text)
    },
  }
}

function parse(text: string): Message[] {
  return text
    .split('\n\n')
    .filter(block => block.includes('event: '))
    .map(block => {
      const fields = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2)))
      return { id: fields['id'], event: fields['event'], data: JSON.parse(fields['data']) }
    })
}

describe('the stream', () => {
  it('F8: begins with the numbers, then tells what has changed, in order', async () => {
    const world = serverWorld()
    const stream = await open(world)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    expect(await stream.messages(1)).toMatchObject([
      { id: '1', event: 'overview', data: { letters: { total: 0 } } },
    ])
    await world.bury(world.make.letter())
    await world.clock.advance(2_000)
    const told = await stream.messages(3)
    expect(told.slice(1)).toMatchObject([
      { event: 'overview', data: { letters: { total: 1, waiting: 1 } } },
      { event: 'change', data: { topics: ['letters', 'groups'] } },
    ])
    expect(told.map(({ id }) => Number(id))).toEqual([1, 2, 3])
    await stream.reader.cancel()
    await world.server.close()
  })

  it('F8: a change on this server is sent immediately, and never more than twice a second', async () => {
    const world = serverWorld()
    const letters = await world.bury(...Array.from({ length: 8 }, () => world.make.letter()))
    const stream = await open(world)
    await stream.messages(1)
    for (const { id } of letters) {
      await world.tell(`/api/v1/dead-letters/${id}/discard`, { reason: 'x' })
      await world.clock.advance(100)
    }
    await world.clock.advance(400)
    const changes = (await stream.messages(4)).filter(({ event }) => event === 'change')
    const times = changes.map(({ data }) => Date.parse((data as { at: string }).at))
    expect(times[0]).toBe(Date.parse('2026-01-01T00:00:08.000Z'))
    for (const [index, at] of times.entries())
      if (index > 0) expect(at - times[index - 1]!).toBeGreaterThanOrEqual(500)
    await world.server.close()
  })

  it('F8: is heard to be alive when nothing happens', async () => {
    const world = serverWorld()
    const stream = await open(world)
    await stream.messages(1)
    await world.clock.advance(3_000)
    expect(await stream.read()).toBe(': heartbeat\n\n')
    await world.server.close()
  })

  it('F8: is heard to be alive two seconds after its last message, also after the clock was set back', async () => {
    const world = serverWorld()
    const stream = await open(world)
    await stream.messages(1)
    await world.clock.advance(500)
    await world.bury(world.make.letter())
    await world.clock.advance(1_000)
    let seen = ''
    while (!seen.includes('event: change')) seen += await stream.read()
    world.clock.jump(-600_000)
    seen = ''
    // The first second may bring numbers that follow from the new time.
    await world.clock.advance(3_000)
    while (!seen.includes('heartbeat')) seen += await stream.read()
    await world.server.close()
  })

  it('F8: is heard to be alive while a store does not answer', async () => {
    const clock = new FakeClock()
    const own = memoryStore({ clock })
    const stats = () => new Promise<never>(() => {})
    const deadLetters = changed(own.deadLetters, () => ({ stats }))
    const world = serverWorld({ stores: { ...own, deadLetters }, clock })
    const stream = await open(world)
    expect(await stream.read()).toContain('retry: ')
    await clock.advance(3_000)
    expect(await stream.read()).toBe(': heartbeat\n\n')
    await world.server.close()
  })

  it('F8: who comes back is told to ask for everything', async () => {
    const world = serverWorld()
    const stream = await open(world, { 'last-event-id': '7' })
    expect((await stream.messages(1))[0]).toMatchObject({
      event: 'change',
      data: { topics: ['letters', 'groups', 'replays', 'channels', 'demo'] },
    })
    await world.server.close()
  })

  it('F8: a client that does not read is disconnected, and the others notice nothing', async () => {
    const world = serverWorld()
    const stuck = await open(world)
    const quick = await open(world)
    const [letter] = await world.bury(world.make.letter())
    let told = 0
    const reading = (async () => {
      while ((await quick.read()) !== undefined) told++
    })()
    for (let round = 0; round < 400; round++) {
      const verb = round % 2 === 0 ? 'discard' : 'reopen'
      await world.tell(`/api/v1/dead-letters/${letter!.id}/${verb}`, { reason: 'x' })
      await world.clock.advance(1_000)
    }
    await expect(
      (async () => {
        while ((await stuck.read()) !== undefined);
      })(),
    ).rejects.toThrow('too slow')
    expect(told).toBeGreaterThan(400)
    await world.server.close()
    await reading
  })

  it('F8: looks at the stores only while someone reads', async () => {
    const world = serverWorld()
    let looks = 0
    const { stats } = world.store.deadLetters
    world.store.deadLetters.stats = filter => {
      looks++
      return stats.call(world.store.deadLetters, filter)
    }
    const stream = await open(world)
    await stream.messages(1)
    await world.clock.advance(3_000)
    expect(looks).toBeGreaterThan(3)
    await stream.reader.cancel()
    await world.clock.advance(1_000)
    const before = looks
    await world.clock.advance(10_000)
    expect(looks).toBe(before)
  })

  it('F8: one token opens so many streams and no more; another token still can', async () => {
    const world = serverWorld({ tokens: PEOPLE })
    const as = (name: string) => ({ authorization: `Bearer ${secretOf(name)}` })
    const streams = []
    for (let opened = 0; opened < 20; opened++) streams.push(await open(world, as('vic')))
    const refused = await world.ask('/api/v1/stream', { token: secretOf('vic') })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(refused.body.detail).toBe(
      'vic has 20 open streams, the limit for one token. Close one, or retry in 10 s.',
    )
    const other = await open(world, as('ola'))
    expect(other.response.status).toBe(200)
    await streams[0]!.reader.cancel()
    expect((await open(world, as('vic'))).response.status).toBe(200)
    await world.server.close()
  })

  it('F8: all tokens together open so many streams and no more', async () => {
    const tokens = Array.from({ length: 12 }, (_, index) => tokenOf(`t${index}`, 'viewer'))
    const world = serverWorld({ tokens })
    const statuses = []
    for (const { name } of tokens)
      for (let opened = 0; opened < 18; opened++)
        statuses.push((await open(world, { authorization: `Bearer ${secretOf(name)}` })).response.status)
    expect(statuses.filter(status => status === 200)).toHaveLength(200)
    expect(statuses.slice(200).every(status => status === 429)).toBe(true)
    await world.server.close()
  })

  it('F8: ends when the server closes, and is not opened again', async () => {
    const world = serverWorld()
    const stream = await open(world)
    await stream.messages(1)
    await world.server.close()
    expect(await stream.read()).toBeUndefined()
    const late = await open(world)
    while ((await late.read()) !== undefined);
    expect(world.clock.pending).toBe(0)
  })
})
