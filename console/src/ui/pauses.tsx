import type { PauseReason } from '../api/types.ts'
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

export function PausedTag({ children = 'paused' }: { children?: string }) {
  return (
    <div className="paused-tag">
      <Tag tone="signal" glyph="pause">
        {children}
      </Tag>
    </div>
  )
}
