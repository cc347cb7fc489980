import { type BenchResult, machine } from './harness/result.ts'
import { fileStoreRows } from './stores-file.ts'

export async function run(): Promise<BenchResult> {
  return { bench: 'stores', machine: machine(), ...(await fileStoreRows()) }
}
