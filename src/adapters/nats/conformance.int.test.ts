import { afterAll, describe, it } from 'vitest'
import { binariesVariable } from '../../../test/services/given-binaries.ts'
import { findNats } from '../../../test/services/nats.ts'
import { OutsideNats } from '../../../test/support/outside-nats.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { streamsOf } from './broker/streams/names.ts'
import { nats } from './index.ts'

/** A server that the environment names is there whatever release is asked for. */
const RELEASES = process.env[binariesVariable('NATS')]
  ? (['newest'] as const)
  : (['newest', 'oldest'] as const)

for (const release of RELEASES) {
  const found = await findNats(release)
  const service = found.found ? await found.start() : undefined
  const outside = service && new OutsideNats(service.url)
  afterAll(async () => {
    await outside?.close()
    await service?.close()
  })
  const why = found.found ? '' : ` (skipped: ${found.why})`

  describe.runIf(found.found)(`NATS broker, ${release} server${why}`, () => {
    brokerConformance({
      test: it,
      declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
      canPublishRaw: true,
      canReadLetters: true,
      async setup() {
        const open = () => nats({ url: service!.url, leaseMs: 1_000 })
        return {
          broker: open(),
          reopen: async () => open(),
          publishRaw: (channel, raw) => outside!.publishJson(`${channel}.raw`, raw),
          keptLetters: channel => outside!.letters(streamsOf(channel).letters),
        }
      },
    })
  })
}
