import type { LazaretEvent } from '../../../core/event/event.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import type { BatchLimits, RejectedItem, Sink, WriteResult } from '../../../ports/sink.ts'
import { optionFunctionError, SinkRefusedError, SinkUnreachableError } from '../errors.ts'
import type { Sender } from './sender.ts'

/** Halvings of one write, at most. Enough to find a few bad events among thousands, too few to be a flood. */
const MAX_HALVINGS = 64
/** While nothing of the write was taken, it looks as if it were about all of it, and halving ends sooner. */
const MAX_FRUITLESS_HALVINGS = 16

export interface DeliveryOptions<P extends Piece> {
  /** The name of the receiver in messages. */
  readonly subject: string
  readonly shape: Required<BatchLimits>
  /**
   * The piece of a request for an event. Throws for an event that cannot be sent: it is given up on, and the others are
   * sent without it.
   */
  readonly pieceOf: (event: LazaretEvent, index: number) => P
  /** Sends a portion in one request. Resolves to the refused events, if there are any; throws if none was accepted. */
  readonly send: (
    portion: readonly P[],
    signal: AbortSignal,
  ) => Promise<readonly RejectedItem[]> | Promise<void>
  /** Statuses that may be about some of the events only: then halves are sent, down to the one that is to blame [none]. */
  readonly halveAt?: ReadonlySet<number> | undefined
  /** Requests at once [1]. With more, events can overtake each other. */
  readonly concurrency?: number | undefined
}

interface SendingOptions<P extends Piece> extends Omit<DeliveryOptions<P>, 'subject'> {
  /** Finds out how the receiver is [none: the next batch does]. */
  readonly probe?: ((signal: AbortSignal) => Promise<void>) | false | undefined
}

/** A sink whose requests all go through one sender. It closes the sender. */
export function sendingSink<P extends Piece>(sender: Sender, { probe, ...options }: SendingOptions<P>): Sink {
  const delivery = new Delivery({ subject: sender.subject, ...options })
  const { shape, concurrency = 1 } = options
  return {
    // One event in each request: a write that is cut short by its time repeats as few of them as can be.
    batch: { ...shape, maxCount: shape.maxCount && shape.maxCount * concurrency },
    write: (batch, { signal }) => delivery.write(batch, signal),
    ...(probe && { probe: ({ signal }: { readonly signal: AbortSignal }) => probe(signal) }),
    async close() {
      sender.close()
    },
  }
}

/**
 * Writes a batch in as many requests as it takes. Accepted events stay accepted: only the events of failed requests are
 * named as rejected. When the receiver is unreachable or asks for a pause, the remaining requests are not sent, and
 * fail with the same error.
 */
export class Delivery<P extends Piece> {
  readonly #options: DeliveryOptions<P>

  constructor(options: DeliveryOptions<P>) {
    this.#options = options
  }

  async write(batch: readonly LazaretEvent[], signal: AbortSignal): Promise<WriteResult> {
    signal.throwIfAborted()
    const state: State = { rejected: [], hasTaken: false, halvings: 0, stoppedBy: undefined }
    const queue: (readonly P[])[] = cut(this.#pieces(batch, state), this.#options.shape)
    const workers = Math.min(this.#options.concurrency ?? 1, queue.length)
    await Promise.all(Array.from({ length: workers }, () => this.#work(queue, state, signal)))
    return conclude(state.rejected, batch.length)
  }

  #pieces(batch: readonly LazaretEvent[], { rejected }: State): P[] {
    const pieces: P[] = []
    for (const [index, event] of batch.entries()) {
      try {
        pieces.push(this.#options.pieceOf(event, index))
      } catch (error) {
        // Any other error comes from a function of the options. It says nothing about the receiver.
        const isOurs = error instanceof LazaretError
        rejected.push({ index, error: isOurs ? error : optionFunctionError(this.#options.subject, error) })
      }
    }
    return pieces
  }

  async #work(queue: (readonly P[])[], state: State, signal: AbortSignal): Promise<void> {
    for (let portion = queue.shift(); portion !== undefined; portion = queue.shift()) {
      if (state.stoppedBy !== undefined) reject(state, portion, state.stoppedBy.error)
      else await this.#send(portion, queue, state, signal)
    }
  }

  async #send(
    portion: readonly P[],
    queue: (readonly P[])[],
    state: State,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const refused = (await this.#options.send(portion, signal)) ?? []
      state.rejected.push(...refused)
      if (refused.length < portion.length) state.hasTaken = true
    } catch (error) {
      signal.throwIfAborted()
      if (this.#mayHalve(portion, error, state)) {
        const middle = Math.ceil(portion.length / 2)
        queue.unshift(portion.slice(0, middle), portion.slice(middle))
        return
      }
      reject(state, portion, error)
      if (isPauseRequest(error)) state.stoppedBy ??= { error }
    }
  }

  #mayHalve(portion: readonly P[], error: unknown, state: State): boolean {
    if (portion.length < 2 || !(error instanceof SinkRefusedError)) return false
    const most = state.hasTaken ? MAX_HALVINGS : MAX_FRUITLESS_HALVINGS
    return this.#options.halveAt?.has(error.status) === true && state.halvings++ < most
  }
}

interface State {
  readonly rejected: RejectedItem[]
  hasTaken: boolean
  halvings: number
  stoppedBy: { readonly error: unknown } | undefined
}

function reject(state: State, portion: readonly Piece[], error: unknown): void {
  for (const { index } of portion) state.rejected.push({ index, error })
}

function isPauseRequest(error: unknown): boolean {
  if (error instanceof SinkRefusedError) return error.status === 429 || error.status === 503
  return error instanceof SinkUnreachableError
}

/** The batch failed as a whole if nothing was accepted, and all events failed with one error or each may be retried. */
function conclude(rejected: readonly RejectedItem[], count: number): WriteResult {
  const first = rejected[0]
  if (first === undefined) return undefined
  const areAll = (are: (error: unknown) => boolean) => rejected.every(({ error }) => are(error))
  const isWhole = rejected.length === count
  if (isWhole && (areAll(error => error === first.error) || areAll(isRetryable))) throw first.error
  return { rejected }
}

function isRetryable(error: unknown): boolean {
  return (error as { readonly retryable?: unknown } | undefined)?.retryable === true
}

/** One event of a batch, ready to be sent. */
export interface Piece {
  /** The position in the batch. */
  readonly index: number
  /** About: the length of its text. */
  readonly size: number
}

/**
 * Splits the pieces into parts that each fit into a request. A piece that is too large is sent alone: the receiver
 * decides.
 */
export function cut<P extends Piece>(
  pieces: readonly P[],
  { maxCount, maxBytes }: Required<BatchLimits>,
): P[][] {
  const countMax = maxCount ?? Number.POSITIVE_INFINITY
  const bytesMax = maxBytes ?? Number.POSITIVE_INFINITY
  const portions: P[][] = []
  let portion: P[] = []
  let size = 0
  for (const piece of pieces) {
    if (portion.length > 0 && (portion.length >= countMax || size + piece.size > bytesMax)) {
      portions.push(portion)
      portion = []
      size = 0
    }
    portion.push(piece)
    size += piece.size
  }
  if (portion.length > 0) portions.push(portion)
  return portions
}
