import { useState } from 'react'
import type { FleetInstance, FleetService } from '../../api/types.ts'
import { counted, percent, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { processName } from '../../lib/process-name.ts'
import { Button } from '../../ui/buttons.tsx'
import { Panel } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Tag } from '../../ui/tags.tsx'
import { InstancePages } from './instance-pages.tsx'
import { PartRows, PartsHead } from './part-rows.tsx'
import { EndedProcess, Process } from './process.tsx'
import { partsOfInstance, partsOfService } from './service-view.ts'

interface ServicePanelProps {
  readonly service: FleetService
  /** Whether its processes are shown at first. */
  readonly isOpen: boolean
}

/** A service: the sums over its living processes, and each process. Processes are loaded when they are shown. */
export function ServicePanel({ service, isOpen }: ServicePanelProps) {
  const { name, alive, gone, left, versions } = service
  const [isShown, setShown] = useState(isOpen)
  const show = `Show ${counted(alive + gone + left, 'process', 'processes')}`
  // A process that goes away must not take the row, and with it an open dialog, out of the table.
  const hasSums = alive + gone > 1 || !isShown
  return (
    <Panel
      title={<span className="external-text">{plainText(name)}</span>}
      aside={<Counts of={service} />}
      bare
    >
      <div className="service">
        {alive > 0 && <Versions of={versions} />}
        {alive > 0 && hasSums && <Sums of={service} />}
        {isShown ? (
          <>
            {alive > 0 && (
              <InstancePages service={name} state="alive">
                {instances => <LivingProcesses instances={instances} />}
              </InstancePages>
            )}
            {gone > 0 && (
              <InstancePages service={name} state="gone">
                {instances => <EndedProcesses instances={instances} />}
              </InstancePages>
            )}
            {left > 0 && <LeftProcesses of={service} />}
          </>
        ) : (
          <p className="more-processes">
            <Button label={`${show}: ${plainText(name)}`} onPress={() => setShown(true)}>
              {show}
            </Button>
          </p>
        )}
      </div>
    </Panel>
  )
}

function Counts({ of: { alive, gone } }: { of: FleetService }) {
  return (
    <>
      {alive > 0 && (
        <Tag tone="good" glyph="check">
          {whole(alive)} alive
        </Tag>
      )}
      {gone > 0 && (
        <Tag tone="signal" glyph="flag">
          {whole(gone)} gone
        </Tag>
      )}
    </>
  )
}

/** During a release two versions run at once: the one that fails can be told from the other. */
function Versions({ of: versions }: { of: FleetService['versions'] }) {
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

/** The consumers and sinks of all living processes. */
function Sums({ of: service }: { of: FleetService }) {
  const { name, alive } = service
  const living = counted(alive, 'living process', 'living processes')
  return (
    <Table kind="parts" wide>
      <PartsHead />
      <tbody>
        <tr className="process">
          <th scope="rowgroup" colSpan={7}>
            All {living}
          </th>
        </tr>
        <PartRows
          parts={partsOfService(service)}
          to={{ service: name }}
          where={`${living} of ${plainText(name)}`}
        />
      </tbody>
    </Table>
  )
}

function LivingProcesses({ instances }: { instances: readonly FleetInstance[] }) {
  return (
    <Table kind="parts" wide>
      <PartsHead />
      {instances.map(instance => (
        <tbody key={instance.id} aria-label={processName(instance)}>
          <tr className="process">
            <th scope="rowgroup" colSpan={7}>
              <Process instance={instance} />
            </th>
          </tr>
          <PartRows
            parts={partsOfInstance(instance)}
            to={{ instance: instance.id, store: instance.store }}
            where={processName(instance)}
          />
        </tbody>
      ))}
    </Table>
  )
}

function EndedProcesses({ instances }: { instances: readonly FleetInstance[] }) {
  return (
    <ul className="ended-processes">
      {instances.map(instance => (
        <li key={instance.id}>
          <EndedProcess instance={instance} />
        </li>
      ))}
    </ul>
  )
}

/** Those that ended in order need nobody, so they are folded away. */
function LeftProcesses({ of: { name, left } }: { of: FleetService }) {
  const [isUnfolded, setUnfolded] = useState(false)
  return (
    <details className="left-processes" onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}>
      <summary>{counted(left, 'process', 'processes')} left</summary>
      {isUnfolded && (
        <InstancePages service={name} state="left">
          {instances => <EndedProcesses instances={instances} />}
        </InstancePages>
      )}
    </details>
  )
}
