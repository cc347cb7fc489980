export type { AgentOptions, AgentRight, BoundedReplay } from '../../core/options/agents.ts'
export { type ServeAgentOptions, serveAgent } from './serve-agent.ts'
