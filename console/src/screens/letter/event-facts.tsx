import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { LetterDetail } from '../../api/types.ts'
import { groupPath } from '../../lib/paths.ts'
import { plainText } from '../../lib/plain-text.ts'
import { traceAddress, usePreference } from '../../lib/preferences.ts'
import { traceUrl } from '../../lib/trace-url.ts'
import { useIsFederated } from '../../lib/use-can.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Facts, Panel } from '../../ui/page.tsx'
import { Timestamp } from '../../ui/time.tsx'
import { ReplayLink } from './replay-link.tsx'

export function EventFacts({ letter }: { letter: LetterDetail }) {
  const isFederated = useIsFederated()
  const { event } = letter
  return (
    <>
      <Panel title="Event">
        <Facts
          of={[
            ['type', <Filter key="type" name="type" value={event.type} />],
            ['id', <Id key="id" id={event.id} />],
            ['key', event.key && plainText(event.key)],
            [
              'idempotency key',
              event.idempotencyKey === event.id ? 'event id' : plainText(event.idempotencyKey),
            ],
            ['occurred', <Timestamp key="occurred" at={event.occurredAt} />],
            ['expires', event.expiresAt && <Timestamp at={event.expiresAt} />],
            ['source', event.source && plainText(event.source)],
            ['trace', letter.traceId && <Trace id={letter.traceId} />],
          ]}
        />
      </Panel>
      <Panel title="Letter">
        <Facts
          of={[
            ['id', <Id key="id" id={letter.id} />],
            ['store', isFederated && letter.store],
            ['handler', <Filter key="handler" name="handler" value={letter.handler} />],
            [
              'group',
              <Link key="group" href={groupPath(letter.group)}>
                {plainText(letter.grouping.title)}
              </Link>,
            ],
            ['first failed', <Timestamp key="first" at={letter.firstFailedAt} />],
            ['last failed', <Timestamp key="last" at={letter.lastFailedAt} />],
            [
              'kept until',
              letter.expiresAt ? <Timestamp key="kept" at={letter.expiresAt} /> : expiryText(letter),
            ],
            ['automatic replay', letter.autoReplay && 'allowed'],
            [
              'order by key',
              letter.ordering === 'by-key' && letter.event.key !== undefined && orderText(letter),
            ],
            ['release', letter.release && plainText(letter.release)],
            ['host', letter.host && plainText(letter.host)],
            ['job', letter.job && plainText(letter.job)],
            ['last replay', letter.replayId && <ReplayLink id={letter.replayId}>View replay</ReplayLink>],
            ...Object.entries(letter.origin).map(
              ([name, value]) => [name, plainText(String(value))] as const,
            ),
            ...facts(letter.detail),
          ]}
        />
      </Panel>
      {letter.metadata && (
        <Panel title="Metadata">
          <Facts of={facts(letter.metadata)} />
        </Panel>
      )}
    </>
  )
}

function facts(of: LetterDetail['detail']): readonly (readonly [string, ReactNode])[] {
  return Object.entries(of ?? {}).map(([name, value]) => [plainText(name), plainText(JSON.stringify(value))])
}

function Filter({ name, value }: { name: string; value: string }) {
  return <Link href={`/letters?${new URLSearchParams({ [name]: value })}`}>{plainText(value)}</Link>
}

/** Without an expiry of its own, a letter is kept as the retention of its store says. */
function expiryText({ expiresAfterMs }: LetterDetail): string | undefined {
  return expiresAfterMs === 'never' ? 'a person decides' : undefined
}

function orderText({ state }: LetterDetail): string {
  return state === 'resolved' || state === 'discarded' ? 'yes' : 'yes, later events of its key wait for it'
}

function Id({ id }: { id: string }) {
  return (
    <span className="with-copy">
      <code className="external-text">{plainText(id)}</code>
      <CopyButton text={id} what="id" />
    </span>
  )
}

/** A link once this browser knows where traces are looked at. */
function Trace({ id }: { id: string }) {
  const url = traceUrl(usePreference(traceAddress), id)
  return (
    <span className="with-copy">
      {url === undefined ? (
        <span>
          <code className="external-text">{plainText(id)}</code>{' '}
          <Link href="/settings" className="small">
            Set trace URL
          </Link>
        </span>
      ) : (
        <a href={url} target="_blank" rel="noreferrer noopener" className="mono external-text">
          {plainText(id)}
        </a>
      )}
      <CopyButton text={id} what="trace id" />
    </span>
  )
}
