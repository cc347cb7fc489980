import { useState } from 'react'
import { reveal, useChange } from '../../api/actions.ts'
import type { LetterDetail, RevealedLetter } from '../../api/types.ts'
import { bytes } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { useCan } from '../../lib/use-can.ts'
import { Button } from '../../ui/buttons.tsx'
import { CodeBox } from '../../ui/code-box.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { AskReason } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icons.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Note } from '../../ui/notes.tsx'
import { Panel } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'

interface BodyProps {
  readonly letter: LetterDetail
  readonly revealed: RevealedLetter | undefined
  readonly onReveal: (revealed: RevealedLetter | undefined) => void
}

/** The payload and the headers: masked, until someone says why they must be seen. */
export function Body({ letter, revealed, onReveal }: BodyProps) {
  const can = useCan('letter.reveal')
  const [isAsking, setAsking] = useState(false)
  const change = useChange((reason: string) => reveal(letter.id, reason))
  const payload = revealed?.payload ?? letter.event.payload
  const headers = revealed?.headers ?? letter.event.headers
  return (
    <Panel
      title="Body"
      aside={
        <>
          <CopyButton text={JSON.stringify(payload, null, 2)} what={revealed ? 'body' : 'masked body'} />
          {revealed ? (
            <Button onPress={() => onReveal(undefined)}>Mask payload</Button>
          ) : (
            <Button may={can} onPress={() => setAsking(true)}>
              <Icon name="eye" /> Reveal payload…
            </Button>
          )}
        </>
      }
    >
      <div className="stack">
        {revealed && (
          <Note tone="signal">
            <span>
              Revealed to you and recorded in the audit log. <Timestamp at={revealed.revealedAt} />
            </span>
          </Note>
        )}
        {revealed?.payloadBase64 === undefined ? (
          <JsonView key={revealed ? 'whole' : 'masked'} value={payload} label="Payload" />
        ) : (
          <Bytes base64={revealed.payloadBase64} />
        )}
        <Headers headers={headers} />
      </div>
      {isAsking && (
        <AskReason
          title="Reveal payload"
          verb="Reveal payload"
          keep="Keep masked"
          placeholder="e.g. customer asks about order 1042"
          onClose={() => setAsking(false)}
          onAnswer={async reason => onReveal(await change.mutateAsync(reason))}
        >
          <p>The payload and headers are shown unmasked, only to you, until you leave this page.</p>
        </AskReason>
      )}
    </Panel>
  )
}

function Bytes({ base64 }: { base64: string }) {
  const size = Math.floor((base64.replaceAll('=', '').length * 3) / 4)
  return (
    <div className="stack">
      <p className="quiet small">The payload is {bytes(size)} of binary data, shown in base64.</p>
      <CodeBox label="Payload in base64">{base64.slice(0, 20_000)}</CodeBox>
    </div>
  )
}

function Headers({ headers }: { headers: Readonly<Record<string, string>> }) {
  const entries = Object.entries(headers)
  if (entries.length === 0) return <p className="quiet small">No headers.</p>
  return (
    <div>
      <h3>Headers</h3>
      <dl className="headers">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt className="mono external-text">{plainText(name)}</dt>
            <dd className="mono external-text">{plainText(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
