import type { LetterDetail } from '../../api/types.ts'
import { Icon } from '../../ui/icons.tsx'
import { Note } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'

/** Where a replay would send it, said before anything is sent. */
export function DestinationPanel({ letter: { destination, state } }: { letter: LetterDetail }) {
  const { channel, handler, broker, obstacle } = destination
  const isOver = state === 'resolved' || state === 'discarded'
  return (
    <Panel title="Replay target">
      <div className="stack">
        <p className="destination external-text">
          {broker !== undefined && (
            <>
              <span className="quiet">{broker}</span>
              <Icon name="arrow" />
            </>
          )}
          <strong>{channel}</strong>
          <Icon name="arrow" />
          <span>{handler}</span>
        </p>
        {obstacle === undefined ? (
          <p className="small quiet">Ready to replay.</p>
        ) : isOver ? (
          <p className="small quiet external-text">Cannot be replayed: {obstacle}.</p>
        ) : (
          <Note tone="signal">
            <span className="external-text">Blocked: {obstacle}</span>
          </Note>
        )}
      </div>
    </Panel>
  )
}
