/** A reader that is so far behind is let go of: it comes back and asks anew. */
const MOST_BEHIND_BYTES = 64 * 1_024

/** One open stream. Whatever is said to it is queued or, when it does not read, ends it: nobody waits for a reader. */
export class Reader {
  readonly stream: ReadableStream<Uint8Array>
  readonly #onEnd: (reader: Reader) => void
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOver = false

  constructor(onEnd: (reader: Reader) => void) {
    this.#onEnd = onEnd
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MOST_BEHIND_BYTES }),
    )
  }

  say(bytes: Uint8Array): void {
    if (this.#isOver) return
    if ((this.#controller.desiredSize ?? 0) < bytes.byteLength) {
      this.#controller.error(new Error('the reader is too slow'))
      this.#end()
    } else this.#controller.enqueue(bytes)
  }

  close(): void {
    if (this.#isOver) return
    this.#controller.close()
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#onEnd(this)
  }
}
