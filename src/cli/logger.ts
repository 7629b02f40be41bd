// Logs go to stderr: JSON lines for machines, plain lines on a terminal. stdout belongs to protocol and answers.
import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Logger } from 'pino'
import type { Log } from '../base/index.ts'
import type { Settings } from '../config/index.ts'

/** The process's log, at the level of the setting `log.level` from now on. */
export function createLog(settings: Settings): Log {
  const destination = process.stderr.isTTY ? plainLines() : pino.destination({ fd: 2, sync: true })
  const logger = pino({ level: settings.get('log.level'), base: null }, destination)
  settings.onChange(({ path }) => {
    if (path === 'log.level') logger.level = settings.get('log.level')
  })
  return logOf(logger)
}

function logOf(logger: Logger): Log {
  return {
    debug: (message, facts) => logger.debug(facts ?? {}, message),
    info: (message, facts) => logger.info(facts ?? {}, message),
    warn: (message, facts) => logger.warn(facts ?? {}, message),
    error: (message, facts) => logger.error(facts ?? {}, message),
  }
}

function plainLines(): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const { level, time, msg, ...facts } = JSON.parse(chunk.toString('utf8')) as Record<string, unknown>
      const clock = new Date(Number(time)).toTimeString().slice(0, 8)
      const name = pino.levels.labels[Number(level)] ?? ''
      const rest = Object.entries(facts).map(
        ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      process.stderr.write(`${clock} ${name.padEnd(5)} ${String(msg)}${rest.join('')}\n`)
      done()
    },
  })
}
