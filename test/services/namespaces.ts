import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Found, findPackage, missing } from './debian.ts'

const run = promisify(execFile)
const NEEDED = { iproute2: 'ip', iptables: 'iptables' } as const

/**
 * Whether tests can make network namespaces with rules of their own: that needs root and two packages of Debian. Without them
 * the tests that need it are skipped with the reason, except in CI, where that is a failure.
 */
export async function findNamespaces(): Promise<Found> {
  if (process.getuid?.() !== 0) return missing('a network namespace', 'only root can make one')
  for (const [name, program] of Object.entries(NEEDED)) {
    const found = await findPackage(name, () => runs(program))
    if (!found.found) return found
  }
  // The name of a namespace of a run, so that a run removes what this one leaves behind.
  const probe = `lazaret-net-${process.pid}-probe`
  try {
    await run('ip', ['netns', 'add', probe])
    const inside = ['netns', 'exec', probe, 'iptables']
    await run('ip', [...inside, '-t', 'nat', '-L'])
    await run('ip', [
      ...inside,
      '-A',
      'INPUT',
      '-m',
      'statistic',
      '--mode',
      'nth',
      '--every',
      '2',
      '--packet',
      '0',
    ])
    return { found: true }
  } catch (error) {
    return missing('a network namespace', error instanceof Error ? error.message.trim() : String(error))
  } finally {
    await run('ip', ['netns', 'del', probe]).catch(() => {})
  }
}

function runs(program: string): Promise<boolean> {
  return run(program, ['-V']).then(
    () => true,
    () => false,
  )
}
