import { type BenchResult, machine } from './harness/result.ts'
import { consumeRows } from './runtime-consume.ts'
import { dispatchRows } from './runtime-dispatch.ts'

export async function run(): Promise<BenchResult> {
  const consume = await consumeRows()
  const dispatch = await dispatchRows()
  return {
    bench: 'runtime',
    machine: machine(),
    rows: [...consume.rows, ...dispatch.rows],
    bars: [...consume.bars, ...dispatch.bars],
  }
}
