import { stat } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import { readStoreUrl } from '../open-store.ts'
import { counted } from '../print/fields.ts'
import { type Check, failWith, ok, warn } from './check.ts'
import { checkPermissions } from './permissions.ts'

/** Letters in the spill are safe, and nobody sees them: their store was down, or its service has not run since. */
export async function checkSpill({ spill }: Config, folder: string): Promise<Check[]> {
  if (spill === undefined) return []
  try {
    const address = readStoreUrl(spill, folder)
    if (address.kind !== 'file') return []
    if ((await stat(address.path).catch(() => undefined)) === undefined)
      return [ok('spill', `${spill} is not there yet`)]
    const { fileSpill } = await import('../../adapters/file/index.ts')
    const waiting = fileSpill({ dir: address.path })
    try {
      const size = await waiting.size()
      const loose = await checkPermissions(address, 'spill modes')
      const warnings = loose.filter(({ status }) => status !== 'ok')
      if (size === 0) return [ok('spill', `${spill} is empty`), ...warnings]
      const remedy = 'see that the store is well; a running service moves them there by itself'
      return [warn('spill', `${counted(size, 'letter')} in ${spill}`, remedy), ...warnings]
    } finally {
      await waiting.close()
    }
  } catch (error) {
    return [failWith('spill', error, 'see the message')]
  }
}
