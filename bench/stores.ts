import { type BenchResult, machine } from './harness/result.ts'
import { fileStoreRows } from './stores-file.ts'
import { serverStoreRows } from './stores-servers.ts'
import { sqliteStoreRows } from './stores-sqlite.ts'

export async function run(): Promise<BenchResult> {
  const parts = [await fileStoreRows(), await sqliteStoreRows(), await serverStoreRows()]
  return {
    bench: 'stores',
    machine: machine(),
    rows: parts.flatMap(({ rows }) => rows),
    bars: parts.flatMap(({ bars }) => bars),
  }
}
