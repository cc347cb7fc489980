import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Order, ReceiverUpdate, SinkName } from './receivers.ts'

type Address = Extract<ReceiverUpdate, { readonly lokiUrl: string }>
type Count = Extract<ReceiverUpdate, { readonly failing: unknown }>

/** The process with the servers to play with, and what it last said. */
export class ReceiverProcess {
  readonly address: Address
  lokiPerSecond = 0
  failing: readonly SinkName[] = []
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, address: Address) {
    this.#child = child
    this.address = address
    child.on('message', (news: Count) => {
      this.lokiPerSecond = news.lokiPerSecond
      this.failing = news.failing
    })
  }

  static async start(controlPort: number): Promise<ReceiverProcess> {
    const child = fork(new URL('receivers.ts', import.meta.url), [String(controlPort)])
    const [first] = (await once(child, 'message')) as [Address]
    return new ReceiverProcess(child, first)
  }

  fail(order: Order): void {
    this.#child.send(order)
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
