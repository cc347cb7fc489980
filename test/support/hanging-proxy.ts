import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface HangingProxy {
  readonly url: string
  /** From now on connections are accepted, and nothing goes through them. */
  hang(): void
  /** Ends the connections that hang, and lets new ones through. */
  recover(): void
  close(): Promise<void>
}

/** A proxy before a server, which can make the server look as if it hangs. */
export async function hangingProxy(port: number): Promise<HangingProxy> {
  const sockets = new Set<Socket>()
  let isHanging = false
  const hold = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer(client => {
    hold(client)
    if (isHanging) return
    const target = connect(port, '127.0.0.1')
    hold(target)
    client.on('data', bytes => isHanging || target.write(bytes))
    target.on('data', bytes => isHanging || client.write(bytes))
    client.on('close', () => target.destroy())
    target.on('close', () => isHanging || client.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hang() {
      isHanging = true
    },
    recover() {
      isHanging = false
      endAll()
    },
    close() {
      endAll()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}
