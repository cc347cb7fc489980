import { onOff } from '../flag.ts'
import { storeFlags } from './common.ts'

export const outboxFlags = storeFlags

export const migrateFlags = {
  print: onOff('print the SQL and do nothing, for whoever runs migrations otherwise'),
  ...storeFlags,
}
