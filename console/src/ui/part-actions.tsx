import { useState } from 'react'
import type { BreakerState, Permission } from '../api/types.ts'
import { Button } from './buttons.tsx'
import { AskReason } from './dialog.tsx'

/** What changes a consumer or a sink. The first three force or reset its breaker. */
export type PartAct = 'open' | 'closed' | 'auto' | 'pause' | 'resume'

/** What a process can be asked for whatever the state of its consumer or sink is. */
export type AskingAct = 'probe' | 'validate' | 'resend'

const ASKS: Readonly<Record<PartAct | AskingAct, { verb: string; keep: string; says: string }>> = {
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
  probe: {
    verb: 'Probe',
    keep: 'Do not probe',
    says: 'The process answers with its health now. Nothing is changed.',
  },
  validate: {
    verb: 'Validate letters',
    keep: 'Do not validate',
    says: 'One process checks the newest dead letters against its schema. Nothing is changed.',
  },
  resend: {
    verb: 'Resend letters',
    keep: 'Do not resend',
    says: 'One process sends the newest dead letters of the sink once more, at most 500. A replay sends them in stages and halts if they fail again.',
  },
}

const LABELS: Readonly<Record<PartAct | AskingAct, string>> = {
  auto: 'Reset breaker',
  closed: 'Force closed',
  open: 'Force open',
  pause: 'Pause',
  resume: 'Resume',
  probe: 'Probe',
  validate: 'Validate letters',
  resend: 'Resend letters',
}

interface PartActionsProps<M extends AskingAct> {
  /** Names it in the title of the dialog. */
  readonly name: string
  /** Where it is done, if the name does not say. Screen readers hear it with each button. */
  readonly where?: string | undefined
  /** The state of its breaker in each process. */
  readonly breakers: readonly BreakerState[]
  /** Whether it is paused manually in each process. None for a sink, which cannot be paused. */
  readonly paused: readonly boolean[]
  /** What can be done besides [nothing]. */
  readonly more?: readonly M[]
  readonly may: (act: PartAct | M) => Permission
  readonly onAct: (act: PartAct | M, reason: string) => Promise<unknown>
}

/** The buttons of a consumer or a sink. Each asks for a reason first. */
export function PartActions<M extends AskingAct = never>(props: PartActionsProps<M>) {
  const { name, where, breakers, paused, more = [], may, onAct } = props
  const [asking, setAsking] = useState<PartAct | M>()
  const ask = asking && ASKS[asking]
  return (
    <div className="row end">
      {[...actsFor(breakers, paused), ...more].map(act => (
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
