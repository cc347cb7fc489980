import type { Agent } from 'node:http'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Sink } from '../../../ports/sink.ts'
import { type Piece, sendingSink } from '../sending/delivery.ts'
import { Sender } from '../sending/sender.ts'
import type { Target } from '../sending/target.ts'

interface JsonSinkSetup {
  readonly name: string
  readonly target: Target
  /** Beside those of the target. */
  readonly secrets: readonly string[]
  readonly agent: Agent | undefined
  readonly clock: Clock
  readonly bodyOf: (event: LazaretEvent) => unknown
}

interface BodyPiece extends Piece {
  readonly body: Buffer
}

/**
 * Posts each event as one JSON document, one after the other: the end of an alert must not come before its beginning.
 * The sink has no probe, because only a real message shows whether messages are accepted.
 */
export function jsonSink({ name, target, secrets, agent, clock, bodyOf }: JsonSinkSetup): Sink {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const sender = new Sender({ name, target, headers, secrets, agent, clock })
  return sendingSink<BodyPiece>(sender, {
    shape: { maxCount: 1, maxBytes: undefined },
    pieceOf(event, index) {
      const body = Buffer.from(JSON.stringify(bodyOf(event)))
      return { index, size: body.byteLength, body }
    },
    async send([piece], signal) {
      if (piece !== undefined) await sender.deliver({ method: 'POST', body: piece.body }, signal)
    },
  })
}
