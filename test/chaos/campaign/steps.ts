import { drawFaultTimes, type Size } from './draw.ts'
import { withTempFolder } from './folder.ts'
import { until } from './wait.ts'

const STALL_MS = 400_000

interface RunningCampaign<R> {
  run(tell: (line: string) => void): Promise<R>
  close(): Promise<void>
}

/** Runs a campaign in a folder of its own, and closes it however it ends. */
export function runInFolder<R>(
  create: (folder: string) => RunningCampaign<R> | Promise<RunningCampaign<R>>,
  tell: (line: string) => void,
): Promise<R> {
  return withTempFolder(async folder => {
    const campaign = await create(folder)
    try {
      return await campaign.run(tell)
    } finally {
      await campaign.close()
    }
  })
}

/** Injects each fault when so many events are handled. */
export async function injectFaults<F extends string>(
  options: Size & { readonly faults: Readonly<Record<F, number>> },
  handled: () => number,
  inject: (fault: F) => Promise<void>,
  tell: (line: string) => void,
  stallMs = STALL_MS,
): Promise<void> {
  for (const { fault, at } of drawFaultTimes(options, options.faults)) {
    await until(
      () => handled() >= at,
      () => `${at} events are handled`,
      stallMs,
    )
    tell(`${handled()} handled: ${fault}`)
    await inject(fault)
  }
}

/** Counts until every event is handled or dead, and nothing but letters is left on the server. */
export async function countAtTheEnd<F extends { readonly lost: number; readonly left: number }>(
  count: () => Promise<F>,
): Promise<F> {
  let findings: F | undefined
  const isOver = async () => {
    findings = await count()
    return findings.lost === 0 && findings.left === 0
  }
  // Events that are missing by then are lost for good: the report counts them.
  await until(isOver, () => 'every event is handled or dead', STALL_MS).catch(() => {})
  return findings!
}
