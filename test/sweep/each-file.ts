// Says which test file the frames of this process, and of those it starts, belong to.
import { expect } from 'vitest'

process.env['MCPX_SWEEP_TEST'] = expect.getState().testPath?.replace(/^.*[\\/]test[\\/]/, 'test/') ?? ''
