import { useCommandRequest } from '../api/queries.ts'
import type { CommandRequestView } from '../api/types.ts'
import { counted, whole } from '../lib/numbers.ts'
import { plainText } from '../lib/plain-text.ts'
import { processName } from '../lib/process-name.ts'
import { useRequests } from '../lib/use-requests.ts'
import { Button } from './buttons.tsx'
import type { IconName } from './icons.tsx'
import { ErrorNote } from './notes.tsx'
import { Tag, type Tone } from './tags.tsx'
import './outcomes.css'

type Command = CommandRequestView['commands'][number]

const MOST_SHOWN = 20

/** What became of the commands that were sent from here. It stays in sight while the page scrolls. */
export function Outcomes() {
  const { ids, dismiss } = useRequests()
  if (ids.length === 0) return null
  return (
    <section className="sent-commands" aria-label="Commands">
      {ids.map(id => (
        <Outcome key={id} id={id} onDismiss={() => dismiss(id)} />
      ))}
    </section>
  )
}

interface OutcomeProps {
  readonly id: string
  readonly onDismiss: () => void
}

function Outcome({ id, onDismiss }: OutcomeProps) {
  const { data, error } = useCommandRequest(id)
  const commands =
    data?.commands.toSorted((a, b) => URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state)) ?? []
  const left = commands.length - MOST_SHOWN
  return (
    <div className="sent-command">
      <div className="row">
        <strong className="external-text" role="status">
          {data ? `${titleOf(data.task)}: ${progressOf(commands)}` : 'Command sent'}
        </strong>
        {data?.reason && <span className="small quiet external-text">{plainText(data.reason)}</span>}
        <span className="push">
          <Button look="quiet" label={`Dismiss${data ? `: ${titleOf(data.task)}` : ''}`} onPress={onDismiss}>
            ✕
          </Button>
        </span>
      </div>
      {error && <ErrorNote error={error} />}
      <ul>
        {commands.slice(0, MOST_SHOWN).map(command => (
          <li key={command.id} className="external-text">
            <CommandTag state={command.state} /> <span className="small">{whoOf(command)}</span>
            <span className="small quiet">
              {whyOf(command)}
              {answerOf(command)}
            </span>
          </li>
        ))}
        {left > 0 && <li className="small quiet">and {counted(left, 'more process', 'more processes')}</li>}
      </ul>
    </div>
  )
}

const TAGS: Readonly<Record<Command['state'], readonly [Tone, IconName]>> = {
  waiting: ['plain', 'dots'],
  claimed: ['sea', 'play'],
  done: ['good', 'check'],
  failed: ['bad', 'cross'],
  expired: ['signal', 'flag'],
  unanswered: ['signal', 'flag'],
}
/** What needs a person comes first. */
const URGENCY: readonly Command['state'][] = ['failed', 'unanswered', 'expired', 'waiting', 'claimed', 'done']

function CommandTag({ state }: Pick<Command, 'state'>) {
  const [tone, glyph] = TAGS[state] ?? ['plain', 'dots']
  return (
    <Tag tone={tone} glyph={glyph}>
      {state}
    </Tag>
  )
}

/** The process that a command is for or that took it, or the number of those that may take it. */
function whoOf({ instance, host, pid, recipients }: Command): string {
  if (instance === undefined) return `any of ${counted(recipients.length, 'process', 'processes')}`
  return host === undefined || pid === undefined ? plainText(instance) : processName({ host, pid })
}

/** What a process answered to a probe, or what became of letters. */
function answerOf({ result }: Command): string {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return ''
  const { consumers, sinks, letters } = result as Readonly<Record<string, unknown>>
  const parts = [consumers, sinks].flatMap(each => (Array.isArray(each) ? each.map(healthOf) : []))
  if (parts.length > 0) return `: ${parts.join('; ')}`
  if (!Array.isArray(letters)) return ''
  if (letters.length === 0) return ': no dead letters'
  const counts = Object.entries(result).filter(([, value]) => typeof value === 'number' && value > 0)
  return `: ${counts.map(([name, value]) => `${whole(Number(value))} ${plainText(name)}`).join(', ')}`
}

function healthOf(part: unknown): string {
  const { breaker, paused, active, inFlight, lag, buffered } = part as Readonly<Record<string, unknown>>
  const facts = [
    `breaker ${breaker}`,
    ...(Array.isArray(paused) && paused.length > 0 ? [`paused (${paused.join(', ')})`] : []),
    `${active ?? inFlight} in progress`,
    ...(lag === undefined ? [] : [`lag ${lag}`]),
    ...(buffered === undefined ? [] : [`${buffered} buffered`]),
  ]
  return plainText(facts.join(', '))
}

function whyOf({ state, error }: Command): string {
  if (error !== undefined) return `: ${plainText(error)}`
  if (state === 'expired') return ': the process did not take it in time; it is not executed'
  if (state === 'unanswered') return ': the process took it and did not answer; look at its next report'
  return ''
}

function progressOf(commands: readonly Command[]): string {
  const done = commands.filter(({ state }) => state === 'done').length
  return `done in ${whole(done)} of ${counted(commands.length, 'process', 'processes')}`
}

const WORDS: Readonly<Record<string, string>> = {
  validate: 'validate letters of',
  resend: 'resend letters of',
}

function titleOf({ kind, to, channel, handler, sink }: CommandRequestView['task']): string {
  const what =
    kind === 'breaker'
      ? to === 'auto'
        ? 'reset breaker'
        : `force breaker ${to}`
      : (WORDS[String(kind)] ?? String(kind))
  const which = [channel ?? sink, handler].filter(part => part !== undefined).join(', ')
  return plainText(`${what[0]?.toUpperCase()}${what.slice(1)} ${which}`)
}
