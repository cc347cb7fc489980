import { parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import type { JetStream } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { HandlerNames } from './names.ts'

/** A record of a handler in the state stream, which keeps the last one of each subject. `stream` is the state stream. */
export function stateMessage(stream: string, subject: string, record: object): OutgoingMessage {
  return { stream, subject, data: Buffer.from(JSON.stringify(record)), headers: [] }
}

/** The fields of the last record. Undefined if nothing is recorded. */
export async function readStateRecord(
  jetstream: JetStream,
  { streams }: HandlerNames,
  subject: string,
): Promise<ReturnType<typeof parseLog> | undefined> {
  const found = await jetstream.message(streams.state, { last_by_subj: subject })
  return found && parseLog(Buffer.from(found.data).toString('utf8'))
}
