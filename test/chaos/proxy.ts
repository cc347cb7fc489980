import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { systemClock } from '../../src/ports/clock.ts'

/** The net between two programs, and all that can be wrong with it. */
export class ChaosProxy {
  /** Each way. */
  latencyMs = 0
  /** Each way and connection; undefined: as fast as it goes. */
  bytesPerSecond: number | undefined
  /** New connections are not let through. */
  isDown = false
  /** The next answer does not arrive: both ends see the connection reset instead. Then it is false again. */
  losesNextAnswer = false
  #target: { readonly host: string; readonly port: number }
  readonly #server: Server
  readonly #pairs = new Set<Pair>()

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server
    this.#target = target
    server.on('connection', socket => this.#join(socket))
  }

  static async to(url: string): Promise<ChaosProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ChaosProxy(server, { host: hostname, port: Number(port) })
  }

  /** The same address, through here. */
  through(url: string): string {
    const address = new URL(url)
    address.host = `127.0.0.1:${(this.#server.address() as { port: number }).port}`
    return address.href
  }

  /** New connections go to this address from now on, as a load balancer does it. */
  lead(url: string): void {
    const { hostname, port } = new URL(url)
    this.#target = { host: hostname, port: Number(port) }
  }

  get connections(): number {
    return this.#pairs.size
  }

  /** Both ends see the connection reset. */
  cut(): void {
    for (const pair of this.#pairs) pair.cut()
  }

  /** What the near ends send is kept here, and nobody is told: a switch has too much to do. */
  holdBack(): void {
    for (const pair of this.#pairs) pair.holdBack()
  }

  /** What was held back arrives, late and in its order. */
  release(): void {
    for (const pair of this.#pairs) pair.release()
  }

  /** Nothing gets through any more on the connections there are, and nobody is told: a cable was pulled. */
  halfOpen(): void {
    for (const pair of this.#pairs) pair.isMute = true
  }

  /** The near end sees the connection reset, and the far one is not told: what stands between them has forgotten it. */
  cutNear(): void {
    for (const pair of this.#pairs) pair.cutNear()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    if (this.isDown) {
      client.resetAndDestroy()
      return
    }
    const pair = new Pair(client, connect(this.#target), this)
    this.#pairs.add(pair)
    client.on('close', () => this.#pairs.delete(pair))
  }
}

type Weather = Pick<ChaosProxy, 'latencyMs' | 'bytesPerSecond' | 'losesNextAnswer'>

class Pair {
  isMute = false
  readonly #client: Socket
  readonly #server: Socket
  /** What the client has sent; undefined while nothing is held back. */
  #heldBack: Buffer[] | undefined

  constructor(client: Socket, server: Socket, weather: Weather) {
    this.#client = client
    this.#server = server
    this.#pass(client, server, weather)
    this.#pass(server, client, weather)
  }

  cut(): void {
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  cutNear(): void {
    this.isMute = true
    this.#client.resetAndDestroy()
  }

  holdBack(): void {
    this.#heldBack ??= []
  }

  release(): void {
    const late = this.#heldBack ?? []
    this.#heldBack = undefined
    for (const chunk of late) this.#server.write(chunk)
  }

  #pass(from: Socket, to: Socket, weather: Weather): void {
    let freeAt = 0
    from.on('error', () => {})
    from.on('close', () => {
      if (!this.isMute) to.destroy()
    })
    from.on('data', chunk => {
      if (this.isMute) return
      if (from === this.#client && this.#heldBack !== undefined) {
        this.#heldBack.push(chunk)
        return
      }
      if (from === this.#server && weather.losesNextAnswer) {
        weather.losesNextAnswer = false
        this.cut()
        return
      }
      const { latencyMs, bytesPerSecond } = weather
      if (latencyMs === 0 && bytesPerSecond === undefined) {
        to.write(chunk)
        return
      }
      const now = systemClock.now()
      const takesMs = bytesPerSecond === undefined ? 0 : (chunk.length * 1_000) / bytesPerSecond
      freeAt = Math.max(freeAt, now) + takesMs
      if (takesMs > 0) from.pause()
      systemClock.schedule(freeAt - now + latencyMs, () => {
        if (!to.destroyed) to.write(chunk)
        from.resume()
      })
    })
  }
}
