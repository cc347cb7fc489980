import { expect, it } from 'vitest'
import { RecordingLogger } from '../../../test/support/lines.ts'
import { createWorldAfterOutage } from '../../../test/support/outage.ts'
import { serverWorld } from '../../../test/support/server-world.ts'
import type { Collector } from '../../ports/collector.ts'

const collector = (): Collector => ({
  name: 'rabbitmq',
  start() {},
  stop: async () => {},
  send: async () => {},
  depths: async () => [],
  close: async () => {},
})

it('F8: of servers that share a store, the log of each says when it collects', async () => {
  const { store: stores, clock } = serverWorld()
  const loggers = [new RecordingLogger(), new RecordingLogger()]
  const servers = loggers.map(logger =>
    serverWorld({ stores, clock, logger, collectors: [{ collector: collector() }] }),
  )
  for (const { ask } of servers) await ask('/healthz')
  await clock.advance(60_000)
  await servers[0]!.server.close()
  await clock.advance(60_000)
  await servers[1]!.server.close()
  const turn = ['info collecting_began', 'info collecting_ended']
  expect(loggers.map(({ told }) => told)).toEqual([turn, turn])
  expect(loggers[0]!.lines[0]!.fields).toEqual({ what: 'collecting_began', collector: 'rabbitmq' })
})

it.each<[string, () => boolean, string[]]>([
  ['finishes', () => false, ['info replay_running', 'info replay_finished']],
  ['halts by itself', () => true, ['info replay_running', 'warn replay_halted']],
])('B11: the log has a line when a replay is run and when it %s', async (_, broken, told) => {
  const shop = await createWorldAfterOutage(5)
  shop.world.broken = broken
  const { clock, store } = shop
  const logger = new RecordingLogger()
  const { ask, tell, server, errors } = serverWorld({ stores: store, clock, logger })
  await ask('/healthz')
  const { body } = await tell('/api/v1/replays', { filter: {}, reason: 'mended' })
  await tell(`/api/v1/replays/${body.id}/start`, {})
  for (let second = 0; second < 120; second++) await clock.advance(1_000)
  expect(logger.told).toEqual(told)
  expect(logger.lines.at(-1)!.fields).toMatchObject({ replayId: body.id, store: 'main', count: 5 })
  expect(errors).toEqual([])
  await server.close()
})
