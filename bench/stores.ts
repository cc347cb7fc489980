import { type BenchResult, machine } from './harness/result.ts'
import { fileStoreRows } from './stores-file.ts'
import { sqliteStoreRows } from './stores-sqlite.ts'

export async function run(): Promise<BenchResult> {
  const file = await fileStoreRows()
  const sqlite = await sqliteStoreRows()
  return {
    bench: 'stores',
    machine: machine(),
    rows: [...file.rows, ...sqlite.rows],
    bars: [...file.bars, ...sqlite.bars],
  }
}
