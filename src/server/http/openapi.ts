import * as z from 'zod'
import { PROBLEM_TYPE } from '../problem.ts'
import { problem } from '../schema/problem.ts'
import type { Route } from './route.ts'

const PROBLEM = { $ref: '#/components/schemas/Problem' }

/** Generates the OpenAPI 3.1 document from the routes and from the schemas that validate requests. */
export function openApi(routes: readonly Route<never>[], version: string, basePath: string) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lazaret',
      version,
      description: 'Inspect, triage and replay dead letters.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath || '/' }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problem, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operation(route: Route<never>) {
  const {
    about,
    access,
    action,
    params,
    query,
    body,
    answer,
    media = 'application/json',
    statuses = [200],
  } = route
  return {
    operationId: operationId(route),
    summary: about,
    ...(action === undefined ? {} : { 'x-lazaret-action': action }),
    security: access === 'public' ? [] : [{ token: [] }, {}],
    parameters: [...parameters(params, 'path'), ...parameters(query, 'query')],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(body, 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(statuses.map(status => [status, answered(status, media, answer)])),
      default: {
        description: 'Problem details (RFC 9457)',
        content: { [PROBLEM_TYPE]: { schema: PROBLEM } },
      },
    },
  }
}

function answered(status: number, media: string, answer: z.ZodType) {
  const description = status < 300 ? 'Success' : 'The same answer, which reports that something is wrong'
  return { description, content: { [media]: { schema: jsonSchema(answer, 'output') } } }
}

function operationId({ method, path }: Route<never>): string {
  const words = path
    .replaceAll('/:', '/by-')
    .split(/[^A-Za-z]+/)
    .filter(word => word !== '' && !['api', 'v'].includes(word))
  return [method.toLowerCase(), ...words].map((word, index) => (index === 0 ? word : capital(word))).join('')
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function parameters(schema: z.ZodType | undefined, place: 'path' | 'query') {
  if (!(schema instanceof z.ZodObject)) return []
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, { readonly description?: string }>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...each }]) => ({
    name,
    in: place,
    // Tools show the description of the parameter, and many of them ignore that of its schema.
    description,
    required: place === 'path' || required.includes(name),
    schema: each,
  }))
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return plain
}
