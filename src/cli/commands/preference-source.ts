import type { ConfigFile, Settings } from '../../config/index.ts'

/** Where a server's protocol preference comes from: its own key, or the layer of the setting. */
export function preferenceSource(
  { config, settings }: { readonly config: ConfigFile; readonly settings: Settings },
  server: string,
): string {
  if (config.servers.get(server)?.protocol !== undefined) return `server (${config.path})`
  const { source, detail } = settings.explain('upstream.protocol')
  return detail === undefined ? source : `${source} (${detail})`
}
