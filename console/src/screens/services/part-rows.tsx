import { percent, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Breakers, Paused } from '../../ui/part-states.tsx'
import { HeldUp, NotConsuming } from '../../ui/pauses.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { FleetActions, type Recipients } from './fleet-actions.tsx'
import type { Part } from './service-view.ts'

export function PartsHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Consumer or sink</th>
        <th scope="col" className="col-breaker">
          Breaker
        </th>
        <th scope="col" className="number col-rate">
          Per minute
        </th>
        <th scope="col" className="number col-rate">
          Failure rate
        </th>
        <th scope="col" className="number col-rate">
          In progress
        </th>
        <th scope="col" className="number col-rate">
          Lag or buffer
        </th>
        <th scope="col" className="col-act">
          <span className="unseen">Actions</span>
        </th>
      </tr>
    </thead>
  )
}

interface PartRowsProps {
  readonly parts: readonly Part[]
  /** The processes that a command goes to. */
  readonly to: Recipients
  readonly where: string
}

/** A row for each consumer and sink: of one process, or of all of a service. */
export function PartRows({ parts, to, where }: PartRowsProps) {
  if (parts.length === 0)
    return (
      <tr>
        <td colSpan={7} className="small quiet">
          No consumers and no sinks.
        </td>
      </tr>
    )
  return parts.map((part, index) => (
    // A process may have two consumers with the same names.
    <tr key={JSON.stringify([part.kind, part.name, part.handler, index])}>
      <td className="title">
        <PartName part={part} />
      </td>
      <td data-name="Breaker">
        <Breakers of={part.breakers} />
        <Paused of={part} />
      </td>
      <Numbers part={part} />
      <td className="actions">
        <FleetActions part={part} to={to} where={where} />
      </td>
    </tr>
  ))
}

function PartName({ part: { kind, name, handler, broker, paused, stalled, lastAt } }: { part: Part }) {
  return (
    <>
      <strong className="external-text">{plainText(name)}</strong>
      <div className="small quiet external-text">
        {kind === 'sink' ? 'sink' : `${plainText(handler ?? '')} on ${plainText(broker ?? '')}`}
        <NotConsuming paused={paused} />
        <HeldUp stalled={stalled} />
        {lastAt !== undefined && (
          <div>
            <RelativeTime at={lastAt} prefix={kind === 'sink' ? 'last delivered ' : 'last processed '} />
          </div>
        )}
      </div>
    </>
  )
}

function Numbers({ part }: { part: Part }) {
  const { kind, perMinute, failureRate, active, waiting, backlog } = part
  const isFailing = failureRate !== undefined && failureRate > 0.2
  return (
    <>
      <td className="number" data-name="Per minute">
        {perMinute === undefined ? <None /> : whole(perMinute)}
      </td>
      <td className={isFailing ? 'number strong failing' : 'number'} data-name="Failure rate">
        {failureRate === undefined ? <None /> : percent(failureRate)}
        {kind === 'sink' && failureRate !== undefined && <div className="small quiet">since start</div>}
      </td>
      <td className="number" data-name="In progress">
        {whole(active)}
        {waiting > 0 && <div className="small quiet">{whole(waiting)} waiting</div>}
      </td>
      <td className="number" data-name={kind === 'sink' ? 'Buffer' : 'Lag'}>
        {backlog === undefined ? <None /> : whole(backlog)}
      </td>
    </>
  )
}

function None() {
  return <span className="quiet">–</span>
}
