import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findNats, type NatsService } from '../../../test/services/nats.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { OutsideNats } from '../../../test/support/outside-nats.ts'
import { namesOf } from '../../adapters/nats/broker/streams/names.ts'
import { systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findNats()
const why = found.found ? '' : ` (skipped: ${found.why})`

let server: NatsService
let outside: OutsideNats
beforeAll(async () => {
  if (!found.found) return
  server = await found.start()
  outside = new OutsideNats(server.url)
})
afterAll(async () => {
  await outside?.close()
  await server?.close()
})

const { lazaretWith } = cliWorld()
const lazaret = (...argv: readonly string[]) =>
  lazaretWith({ clock: systemClock, env: { LAZARET_NATS_URL: server.url } }, ...argv)

describe.runIf(found.found)(`lazaret nats${why}`, () => {
  it('F8: creates the streams of a handler, as often as one likes, and shows lag, waiting events and dead letters', async () => {
    const channel = uniqueName('orders')
    const { streams, retrySubject, letterSubject } = namesOf(channel, 'bill')
    const none = await lazaret('nats', 'status', channel)
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining(`lazaret nats declare ${channel}`) })
    const declare = ['nats', 'declare', channel, '--handler', 'bill']
    const { code, json } = await lazaret(...declare, '--json')
    expect(code).toBe(0)
    expect(json[0].declared).toEqual(Object.values(streams))
    const subjects = [`${channel}.new`, `${channel}.new`, retrySubject, letterSubject]
    for (const subject of subjects) await outside.publishJson(subject, Buffer.from('1'))
    // Declaring again leaves the handler where it is.
    expect((await lazaret(...declare)).out).toContain(`${channel}: 4 streams for handler bill`)
    const status = await lazaret('nats', 'status', channel, '--json')
    expect(status.json).toEqual([
      { channel, handler: 'bill', stream: streams.events, lag: 2, waiting: 1, deadLetters: 1 },
    ])
    expect((await lazaret('nats', 'status', channel)).out).toMatch(/LAG +WAITING +DEAD/)
  })

  it('F8: says in one line what it cannot create', async () => {
    const many = await lazaret('nats', 'declare', uniqueName('orders'), '--replicas', '3')
    expect(many.code).toBe(1)
    expect(many.err.trim().split('\n')).toHaveLength(1)
  })

  it('F8: doctor warns of the sync interval, and of letters that the server removes', async () => {
    const channel = uniqueName('orders')
    await lazaret('nats', 'declare', channel, '--handler', 'bill')
    const { letters } = namesOf(channel, 'bill').streams
    const { config } = (await outside.jetstream.streamInfo(letters))!
    await outside.request(`STREAM.UPDATE.${letters}`, { ...config, max_age: 86_400_000 * 1_000_000 })
    await withTempFolder(async folder => {
      const file = join(folder, 'lazaret.yaml')
      await writeFile(
        file,
        `store: sqlite:${join(folder, 'l.db')}\nbrokers: { shop: { url: '${server.url}' } }\n`,
      )
      const { out } = await lazaret('doctor', '--config', file)
      expect(out).toMatch(/shop: the sync interval .*Jepsen/)
      expect(out).toContain(`${letters} keeps messages for 1 day`)
    })
  })
})
