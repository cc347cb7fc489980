import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MEMBERS = fileURLToPath(new URL('./members.ts', import.meta.url))

/** Starts a program that acts as many processes of a fleet, and waits until all have reported. */
export async function startMembers(url: string, count: number) {
  const child = spawn(process.execPath, [MEMBERS, url, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // In a fleet they run on other machines, so here they get the time that the server and the browser leave.
  setPriority(child.pid!, constants.priority.PRIORITY_LOW)
  const ended = once(child, 'exit')
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
  if (child.exitCode !== null) throw new Error('bench: the processes of the fleet ended before they joined')
  return {
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
