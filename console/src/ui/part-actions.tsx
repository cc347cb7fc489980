import { useState } from 'react'
import type { BreakerState, Permission } from '../api/types.ts'
import { Button } from './buttons.tsx'
import { AskReason } from './dialog.tsx'

/** What can be done to a consumer or a sink. The first three force or reset its breaker. */
export type PartAct = 'open' | 'closed' | 'auto' | 'pause' | 'resume'

const ASKS: Readonly<Record<PartAct, { verb: string; keep: string; says: string }>> = {
  open: {
    verb: 'Force breaker open',
    keep: 'Keep automatic',
    says: 'No attempts and no probes go through until you reset the breaker.',
  },
  closed: {
    verb: 'Force breaker closed',
    keep: 'Keep automatic',
    says: 'All attempts go through, even if the dependency is failing, until you reset the breaker.',
  },
  auto: {
    verb: 'Reset breaker',
    keep: 'Keep forced',
    says: 'The breaker opens and closes automatically again. After being forced open it starts with probes; after being forced closed it stays closed.',
  },
  pause: {
    verb: 'Pause consumer',
    keep: 'Keep running',
    says: 'The consumer stops pulling. Events in progress are finished; the rest wait in the broker.',
  },
  resume: {
    verb: 'Resume consumer',
    keep: 'Keep paused',
    says: 'The consumer continues from where it stopped.',
  },
}

const LABELS: Readonly<Record<PartAct, string>> = {
  auto: 'Reset breaker',
  closed: 'Force closed',
  open: 'Force open',
  pause: 'Pause',
  resume: 'Resume',
}

interface PartActionsProps {
  /** Names it in the title of the dialog. */
  readonly name: string
  /** Where it is done, if the name does not say. Screen readers hear it with each button. */
  readonly where?: string | undefined
  /** The state of its breaker in each process. */
  readonly breakers: readonly BreakerState[]
  /** Whether it is paused manually in each process. None for a sink, which cannot be paused. */
  readonly paused: readonly boolean[]
  readonly may: (act: PartAct) => Permission
  readonly onAct: (act: PartAct, reason: string) => Promise<unknown>
}

/** The buttons of a consumer or a sink. Each asks for a reason first. */
export function PartActions({ name, where, breakers, paused, may, onAct }: PartActionsProps) {
  const [asking, setAsking] = useState<PartAct>()
  const ask = asking && ASKS[asking]
  return (
    <div className="row end">
      {actsFor(breakers, paused).map(act => (
        <Button
          key={act}
          look={act === 'resume' ? 'main' : 'plain'}
          may={may(act)}
          {...(where !== undefined && { label: `${LABELS[act]}: ${name}, ${where}` })}
          onPress={() => setAsking(act)}
        >
          {LABELS[act]}
        </Button>
      ))}
      {asking && ask && (
        <AskReason
          title={`${ask.verb}: ${name}`}
          verb={ask.verb}
          keep={ask.keep}
          onClose={() => setAsking(undefined)}
          onAnswer={reason => onAct(asking, reason)}
        >
          {where && <p className="external-text">The command goes to {where}.</p>}
          <p>{ask.says}</p>
        </AskReason>
      )}
    </div>
  )
}

/** Only what would change something in one of the processes. */
function actsFor(breakers: readonly BreakerState[], paused: readonly boolean[]): readonly PartAct[] {
  const isForced = (state: BreakerState) => state === 'forced-open' || state === 'forced-closed'
  const automatic = breakers.filter(state => state !== 'off' && !isForced(state))
  const offered: Readonly<Record<PartAct, boolean>> = {
    auto: breakers.some(isForced),
    closed: automatic.some(state => state !== 'closed'),
    open: automatic.length > 0,
    pause: paused.includes(false),
    resume: paused.includes(true),
  }
  return (Object.keys(offered) as PartAct[]).filter(act => offered[act])
}
