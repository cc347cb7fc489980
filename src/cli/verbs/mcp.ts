import { Readable, Writable } from 'node:stream'
import { loadConfig } from '../../config/load.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Collector } from '../../ports/collector.ts'
import { serveAgent } from '../../server/agents/index.ts'
import { openBrokers } from '../brokers.ts'
import { openCollectors } from '../collectors.ts'
import type { Context } from '../command.ts'
import type { mcpFlags } from '../flags.ts'
import { type ExitCode, type Out, OutputClosedError } from '../io.ts'
import { closeAll, openStores, problemOf, serverOptions, stderrLogger } from '../server-options.ts'

/** Serves one agent until its client closes the input. Only the protocol goes to stdout; messages go to stderr. */
export async function mcp({ io, flags }: Context<typeof mcpFlags>): Promise<ExitCode> {
  const loaded = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  const { config } = loaded
  const onError = (error: unknown) => {
    // The client has closed the pipe, which is not a failure.
    if (error instanceof OutputClosedError) return
    void io.stderr.write(`lazaret: ${problemOf(error)}\n`).catch(() => {})
  }
  const { stores } = await openStores(io, flags.store, loaded)
  let brokers: readonly Pick<Broker, 'name' | 'publish' | 'close'>[] = []
  let collectors: readonly { readonly collector: Collector; readonly store: string | undefined }[] = []
  try {
    brokers = await openBrokers(config, Object.values(stores), io, onError)
    // They collect nothing here. They take the replays of letters that they collected.
    collectors = await openCollectors(config, io, onError)
    const { agents, ...options } = serverOptions(config, io, stores, onError)
    await serveAgent({
      ...options,
      // `off` takes the tools off the server. The person who starts this process wants them.
      agents: agents === 'off' ? undefined : agents,
      brokers,
      collectors,
      logger: stderrLogger(io),
      owner: flags.by ?? io.user,
      allow: flags.allow,
      input: Readable.from(io.stdin.bytes, { objectMode: false }),
      output: writableTo(io.stdout),
      signal: io.interrupted,
    })
    return 0
  } finally {
    for (const { collector } of collectors) await collector.close()
    for (const broker of brokers) await broker.close()
    await closeAll(stores)
  }
}

function writableTo(out: Out): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      out.write(String(chunk)).then(() => done(), done)
    },
  })
}
