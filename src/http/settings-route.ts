import type { FastifyInstance } from 'fastify'
import { McpxError } from '../base/index.ts'
import { settingPath } from '../config/index.ts'
import type { SettingReport, Settings } from '../config/index.ts'
import { localOnly } from './principal.ts'

/** `GET`, `PUT` and `DELETE /v1/settings[/{path}]`: each value with its source and what it displaced. Changes are the local user's. */
export function addSettings(app: FastifyInstance, settings: Settings): void {
  app.get('/v1/settings', () => ({ settings: settings.list() }))
  app.get<{ Params: { path: string } }>('/v1/settings/:path', ({ params }) => report(settings, params.path))
  app.put<{ Params: { path: string }; Body: unknown }>('/v1/settings/:path', (request) => {
    localOnly(request)
    const { params, body } = request
    known(params.path)
    settings.set(params.path, valueIn(body))
    return report(settings, params.path)
  })
  app.delete<{ Params: { path: string } }>('/v1/settings/:path', (request) => {
    localOnly(request)
    const { params } = request
    known(params.path)
    settings.unset(params.path)
    return report(settings, params.path)
  })
}

function report(settings: Settings, path: string): SettingReport {
  const found = settings.list().find((setting) => setting.path === known(path))
  if (found === undefined) throw new McpxError('SETTING_UNKNOWN', `There is no setting "${path}"`)
  return found
}

function known(path: string): string {
  try {
    return settingPath(path)
  } catch (error) {
    throw new McpxError('SETTING_UNKNOWN', error instanceof Error ? error.message : String(error))
  }
}

/** The value itself, or an object that holds it under `value`. */
function valueIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'value' in body ? body.value : body
}
