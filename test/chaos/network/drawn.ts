import type { Random } from '../../../src/core/random.ts'
import type { Host } from './hosts.ts'
import { type Fault, ONE_IN_SEVERAL, SHORTEST_FAULT_MS } from './plan.ts'

/** One fault: the hosts that it hits, how long and how strongly. */
export interface DrawnFault {
  readonly fault: Fault
  readonly hosts: readonly Host[]
  readonly forMs: number
  /** Of packet loss: each n-th packet. */
  readonly loseEvery: number
  /** Of latency: each way. */
  readonly latencyMs: number
}

/** Mostly one host, sometimes several. Every fault takes as many random numbers, so that one changes no later one. */
export function drawFault(
  fault: Fault,
  [producer, ...consumers]: readonly Host[],
  longestMs: number,
  random: Random,
): DrawnFault {
  const between = (min: number, max: number) => Math.floor(min + random() * (max - min + 1))
  const hasProducer = fault !== 'dead-host'
  const all = hasProducer ? [producer!, ...consumers] : consumers
  const isSeveral = random() < 1 / ONE_IN_SEVERAL
  const several = between(2, all.length)
  const first = between(0, all.length - 1)
  const count = isSeveral ? several : 1
  const hosts = [...all.slice(first), ...all.slice(0, first)].slice(0, count)
  return {
    fault,
    hosts: fault === 'dead-server' ? all : hosts,
    forMs: between(SHORTEST_FAULT_MS, longestMs),
    loseEvery: between(2, 5),
    latencyMs: between(50, 500),
  }
}

/** As the progress of a campaign shows it. */
export function describeFault({ fault, hosts, forMs, loseEvery, latencyMs }: DrawnFault): string {
  const detail = { loss: ` of each ${loseEvery}. packet`, latency: ` of ${latencyMs} ms` }
  const names = hosts.map(({ name }) => name).join(', ')
  return `${fault}${detail[fault as keyof typeof detail] ?? ''} at ${names} for ${(forMs / 1_000).toFixed(1)} s`
}
