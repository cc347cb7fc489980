import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/**
 * Watches the connections that this process opens. The answer resets all of them. Servers that name their own addresses
 * leave no place for a proxy.
 */
export function watchConnections(): () => void {
  const sockets = new Set<Socket>()
  subscribe('net.client.socket', message => {
    const { socket } = message as { socket: Socket }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
}
