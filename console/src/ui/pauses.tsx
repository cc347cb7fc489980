import type { PauseReason, StalledParts } from '../api/types.ts'
import { Tag } from './tags.tsx'

const PAUSES: Readonly<Record<PauseReason, string>> = {
  breaker: 'breaker open',
  store: 'letters cannot be saved',
  ledger: 'ledger unreachable',
  manual: 'paused manually',
}

/** Why a consumer takes no events. Nothing while it takes them. */
export function NotConsuming({ paused }: { paused: readonly PauseReason[] }) {
  if (paused.length === 0) return null
  return <div className="halted">Not consuming: {paused.map(why => PAUSES[why] ?? why).join(', ')}</div>
}

const STALLS: Readonly<Record<StalledParts[number], string>> = {
  deliveries: 'no events arrive',
  settlements: 'finished events are not acknowledged',
  letters: 'dead letters are not accepted',
}

/** What the broker of a consumer holds up. Nothing while it holds up nothing. */
export function HeldUp({ stalled = [] }: { stalled?: StalledParts | undefined }) {
  if (stalled.length === 0) return null
  return (
    <div className="halted">
      Stalled by the broker: {stalled.map(part => STALLS[part] ?? part).join(', ')}
    </div>
  )
}

export function PausedTag({ children = 'paused' }: { children?: string }) {
  return (
    <div className="paused-tag">
      <Tag tone="signal" glyph="pause">
        {children}
      </Tag>
    </div>
  )
}
