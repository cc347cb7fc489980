import { KeyUnblocker } from '../operations/unblock-keys.ts'
import { openBrokers } from './brokers.ts'
import type { ExitCode } from './io.ts'
import { safeText } from './print/safe-text.ts'
import type { Session } from './session.ts'

/**
 * Runs the work with an unblocker that knows the brokers of the config. They are opened for the first letter that needs one, and
 * closed at the end. A warning names each discarded letter whose key is still blocked.
 */
export async function withKeyUnblocker(
  { store, config, io }: Session,
  work: (keys: KeyUnblocker) => Promise<ExitCode>,
): Promise<ExitCode> {
  let opening: ReturnType<typeof openBrokers> | undefined
  const brokers = () => {
    opening ??= openBrokers(config, [store], io, () => {})
    return opening
  }
  const keys = new KeyUnblocker(store, { brokers, clock: io.clock })
  try {
    const code = await work(keys)
    return code === 0 && keys.shortfall() !== undefined ? 3 : code
  } finally {
    for (const problem of keys.problems(Number.POSITIVE_INFINITY))
      await io.stderr.write(`warning: ${safeText(problem)}\n`)
    const opened = (await opening?.catch(() => [])) ?? []
    await Promise.all(opened.map(broker => broker.close()))
  }
}
