import { useState } from 'react'
import type { FleetInstance } from '../../api/types.ts'
import { counted, percent, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Button } from '../../ui/buttons.tsx'
import { Panel } from '../../ui/page.tsx'
import { Tag } from '../../ui/tags.tsx'
import { PartRows, PartsHead } from './part-rows.tsx'
import { EndedProcess, Process, processName } from './process.tsx'
import { partsOf, type ServiceView, type VersionView } from './service-view.ts'

interface ServicePanelProps {
  readonly service: ServiceView
  /** The number of processes of each state that are shown at first. */
  readonly limit: number
}

export function ServicePanel({ service, limit }: ServicePanelProps) {
  const { name, alive, gone, left, versions } = service
  return (
    <Panel
      title={<span className="external-text">{plainText(name)}</span>}
      aside={<Counts of={service} />}
      bare
    >
      <div className="service">
        {alive.length > 0 && <Versions of={versions} />}
        {alive.length > 0 && <LivingProcesses service={service} limit={limit} />}
        {gone.length > 0 && <Ended processes={gone} limit={limit} />}
        {left.length > 0 && (
          <details className="left-processes">
            <summary>{counted(left.length, 'process', 'processes')} left</summary>
            <Ended processes={left} limit={limit} />
          </details>
        )}
      </div>
    </Panel>
  )
}

function Counts({ of: { alive, gone } }: { of: ServiceView }) {
  return (
    <>
      {alive.length > 0 && (
        <Tag tone="good" glyph="check">
          {whole(alive.length)} alive
        </Tag>
      )}
      {gone.length > 0 && (
        <Tag tone="signal" glyph="flag">
          {whole(gone.length)} gone
        </Tag>
      )}
    </>
  )
}

/** During a release two versions run at once: the one that fails can be told from the other. */
function Versions({ of: versions }: { of: readonly VersionView[] }) {
  return (
    <ul className="versions" aria-label="Versions">
      {versions.map(({ version, release, processes, failureRate }) => (
        <li key={JSON.stringify([version, release])}>
          <strong className="external-text">
            {version === undefined ? 'No version' : plainText(version)}
          </strong>
          {release !== undefined && <span className="external-text">, release {plainText(release)}</span>}
          <span className="quiet">: {counted(processes, 'process', 'processes')}, </span>
          {failureRate === undefined ? (
            <span className="quiet">no events in the last minute</span>
          ) : (
            <span className={failureRate > 0.2 ? 'strong failing' : 'quiet'}>
              {percent(failureRate)} of events failed
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function LivingProcesses({ service: { name, alive, gone }, limit }: ServicePanelProps) {
  const [shown, more] = useLimited(alive, limit)
  // A process that goes away must not take the row, and with it an open dialog, out of the table.
  const hasSums = alive.length + gone.length > 1
  const where = `${counted(alive.length, 'living process', 'living processes')} of ${plainText(name)}`
  return (
    <>
      <table className="table parts">
        <PartsHead />
        {hasSums && (
          <tbody>
            <tr className="process">
              <th scope="rowgroup" colSpan={7}>
                All {counted(alive.length, 'living process', 'living processes')}
              </th>
            </tr>
            <PartRows parts={partsOf(alive)} to={{ service: name }} where={where} />
          </tbody>
        )}
        {shown.map(instance => (
          <tbody key={instance.id} aria-label={processName(instance)}>
            <tr className="process">
              <th scope="rowgroup" colSpan={7}>
                <Process instance={instance} />
              </th>
            </tr>
            <PartRows
              parts={partsOf([instance])}
              to={{ instance: instance.id, store: instance.store }}
              where={processName(instance)}
            />
          </tbody>
        ))}
      </table>
      {more}
    </>
  )
}

function Ended({ processes, limit }: { processes: readonly FleetInstance[]; limit: number }) {
  const [shown, more] = useLimited(processes, limit)
  return (
    <>
      <ul className="ended-processes">
        {shown.map(instance => (
          <li key={instance.id}>
            <EndedProcess instance={instance} />
          </li>
        ))}
      </ul>
      {more}
    </>
  )
}

/** The first of them, and a button for the others. */
function useLimited(processes: readonly FleetInstance[], limit: number) {
  const [isLimited, setLimited] = useState(true)
  if (!isLimited || processes.length <= limit) return [processes, null] as const
  const more = (
    <p className="more-processes">
      <Button onPress={() => setLimited(false)}>Show all {whole(processes.length)} processes</Button>
    </p>
  )
  return [processes.slice(0, limit), more] as const
}
