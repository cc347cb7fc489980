export type { FileRotationOptions, FileSinkOptions } from './file/options.ts'
export { type FileSink, file } from './file/sink.ts'
export { type StdoutOptions, stdout } from './stdout/sink.ts'
export type { OutputStream } from './stdout/stream.ts'
