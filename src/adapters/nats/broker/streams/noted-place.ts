import { countOf, parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import type { JetStream } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { HandlerNames } from './names.ts'

/** How far a handler has come in the stream of its channel, as the state stream notes it. */
interface NotedPlace {
  /** When the stream was made: another one counts from 1. */
  readonly created: string
  /** The handler has settled every event up to this sequence. */
  readonly settledTo: number
}

/** Undefined if nothing is noted. */
export async function readPlace(jetstream: JetStream, names: HandlerNames): Promise<NotedPlace | undefined> {
  const note = await jetstream.message(names.streams.state, { last_by_subj: subjectOf(names) })
  if (note === undefined) return undefined
  const { created, settledTo } = parseLog(Buffer.from(note.data).toString('utf8'))
  return { created: String(created), settledTo: countOf(settledTo) }
}

/** `stream` is the state stream. */
export function writePlace(names: HandlerNames, stream: string, place: NotedPlace): OutgoingMessage {
  return { stream, subject: subjectOf(names), data: Buffer.from(JSON.stringify(place)), headers: [] }
}

function subjectOf({ stateSubject }: HandlerNames): string {
  return `${stateSubject}.place`
}
