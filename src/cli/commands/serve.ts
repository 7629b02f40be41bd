import type { Command } from 'commander'
import { serveStdio } from '../../endpoint/index.ts'
import { unknownServer } from '../../http/index.ts'
import { systemClock } from '../../transport/index.ts'
import { createRuntime, endpointLimits, MCPX_INFO } from '../runtime.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx serve`: the endpoint over stdin and stdout, for hosts that start a process. */
export function addServe(program: Command): void {
  withSettings(program.command('serve'))
    .description('serve all servers, or one, over stdin and stdout')
    .option('--server <name>', 'only this one, under its own names')
    .action(async (options: CommonOptions & { readonly server?: string }) => {
      const { createLog } = await import('../logger.ts')
      const runtime = createRuntime({
        configPath: options.config,
        flags: settingFlags(options),
        log: createLog,
      })
      const { gateway, settings, log } = runtime
      const view = options.server === undefined ? gateway.merged : gateway.only(options.server)
      if (view === undefined) throw unknownServer(options.server ?? '', gateway)
      const interrupted = new Promise<string>((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
          process.once(signal, () => resolve(signal))
      })
      const endpoint = serveStdio(
        {
          handler: view,
          serverInfo: MCPX_INFO,
          open: view.single !== undefined,
          clock: systemClock,
          log,
          limits: endpointLimits(settings),
          access: { allowedHosts: () => [], allowedOrigins: () => [], loopback: true },
        },
        process.stdin,
        process.stdout,
      )
      await Promise.race([endpoint, interrupted])
      process.stdin.destroy()
      await runtime.stop('the client is gone')
    })
}
