/** The thread that draws one chart and ends: ELK keeps a core busy for seconds. */
import { parentPort, workerData } from 'node:worker_threads'
import { drawingOf } from '../drawing/svg.ts'

parentPort?.postMessage(await drawingOf(workerData))
