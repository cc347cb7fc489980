import { type ReactNode, useState } from 'react'
import { useInstances } from '../../api/queries.ts'
import type { FleetInstance } from '../../api/types.ts'
import { Button } from '../../ui/buttons.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'

interface InstancePagesProps {
  readonly service: string
  readonly state: FleetInstance['state']
  readonly cursor?: string | undefined
  /** Draws the processes of a page. */
  readonly children: (instances: readonly FleetInstance[]) => ReactNode
}

/** The processes of a service in one state, page by page. Each page that is in sight is kept up to date. */
export function InstancePages({ service, state, cursor, children }: InstancePagesProps) {
  const { data, error, refetch } = useInstances({ service, state, cursor })
  const [hasNext, setHasNext] = useState(false)
  if (data === undefined) return error ? <ErrorNote error={error} onRetry={refetch} /> : <Loading rows={3} />
  return (
    <>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {data.instances.length > 0 && children(data.instances)}
      {data.cursor !== undefined &&
        (hasNext ? (
          <InstancePages service={service} state={state} cursor={data.cursor}>
            {children}
          </InstancePages>
        ) : (
          <p className="more-processes">
            <Button onPress={() => setHasNext(true)}>Show more processes</Button>
          </p>
        ))}
    </>
  )
}
