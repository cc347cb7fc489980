export type { AgentOptions, AgentRight, BoundedReplay } from '../core/options/agents.ts'
export type { ChannelLimits, WatchOptions } from '../core/watch/options.ts'
export type { TokenOptions } from './auth/authenticator.ts'
export type { RequestLimitOptions } from './auth/request-limiter.ts'
export type {
  OidcOptions,
  ProxySignInOptions,
  SessionOptions,
  SignInOptions,
} from './auth/sign-in-options.ts'
export { type DemoControl, type DemoState, type DemoStep, UnknownActionError } from './demo-control.ts'
export type { ConnectionInfo, Listening } from './listen.ts'
export { ListenError } from './listen.ts'
export type { ReplayDefaults, ServerOptions } from './options.ts'
export { createServer, type LazaretServer, type ListenOptions } from './server.ts'
export type { StreamLimits } from './stream/stream-limiter.ts'
export type { CollectorAssignment } from './work/collecting.ts'
