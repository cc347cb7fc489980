import type { BreakerCounts } from '../api/types.ts'
import { whole } from '../lib/numbers.ts'
import { PausedTag } from './pauses.tsx'
import { BreakerTag } from './tags.tsx'
import './part-states.css'

/** Each state of a breaker once. Where processes differ, with the number of processes. */
export function Breakers({ of: counts }: { of: BreakerCounts }) {
  return (
    <ul className="breakers">
      {counts.map(({ state, processes }) => (
        <li key={state}>
          <BreakerTag state={state} />
          {counts.length > 1 && <span className="small quiet"> in {whole(processes)}</span>}
        </li>
      ))}
    </ul>
  )
}

interface PausesProps {
  readonly processes: number
  /** The processes in which a person paused it. */
  readonly pausedProcesses: number
}

export function Paused({ of: { processes, pausedProcesses } }: { of: PausesProps }) {
  if (pausedProcesses === 0) return null
  return (
    <PausedTag>
      {pausedProcesses === processes ? 'paused' : `paused in ${pausedProcesses} of ${processes}`}
    </PausedTag>
  )
}

/** Whether it is paused in some of the processes, and whether it runs in some. */
export function pausesOf({ processes, pausedProcesses }: PausesProps): readonly boolean[] {
  return [...(pausedProcesses > 0 ? [true] : []), ...(pausedProcesses < processes ? [false] : [])]
}
