import { type BenchResult, machine } from './harness/result.ts'
import { consumeRows } from './runtime-consume.ts'
import { dispatchRows } from './runtime-dispatch.ts'
import { tracedRuntimeRows } from './tracing/runtime.ts'

export async function run(): Promise<BenchResult> {
  const consume = await consumeRows()
  const dispatch = await dispatchRows()
  const traced = await tracedRuntimeRows()
  return {
    bench: 'runtime',
    machine: machine(),
    rows: [...consume.rows, ...dispatch.rows, ...traced.rows],
    bars: [...consume.bars, ...dispatch.bars, ...traced.bars],
  }
}
