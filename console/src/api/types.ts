// The console knows the server by its schemas alone, and only as types: none of its code is in the bundle.
export type * from '../../../src/server/schema/index.ts'
