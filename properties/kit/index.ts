/**
 * `mcp-supervisor/testing`: the world outside a supervisor, simulated. A host app runs its own code against the product's own,
 * in virtual time and under faults, and has every rule of `invariants` judged after every event. The same seed is the same run.
 */
export { type Invariant, type InvariantId, invariants } from '../invariants.js';
export { type ActName, actNames, type Choice, NUMBERS_BELOW, perform } from './acts.js';
export { SimulatedApprovals } from './approvals.js';
export { choices, schedules, seeds } from './arbitraries.js';
export { Checks, Violation } from './checks.js';
export { Connection, type LaunchFacts } from './connection.js';
export { bringToRest, closeAll } from './endings.js';
export { type Room, SimulatedHost } from './host.js';
export { GOOD_LUCK, InFlight } from './in-flight.js';
export { Judge } from './judge.js';
export { Ledger, type LedgerCall } from './ledger.js';
export { drawChoice } from './pace.js';
export type { Peer } from './peer.js';
export { Random } from './random.js';
export { type ScheduleScenario, scenarioOf, scenarioText } from './scenario.js';
export { inOneLine, runSchedule, type ScheduleOptions, type ScheduleResult } from './schedule.js';
export { type Pace, type Setup, setupOf } from './setup.js';
export { shrink } from './shrink.js';
export { type Entry, type File, SimulatedConfig } from './simulated-config.js';
export { SimulatedDb } from './simulated-db.js';
export { SimulatedLink } from './simulated-link.js';
export { SimulatedProcess, simulatedProcesses } from './simulated-process.js';
export { plainShelf, type Shelf, TOOLS } from './simulated-server.js';
export { Simulation } from './simulation.js';
export { Trace } from './trace.js';
export { turn } from './turn.js';
export { VirtualClock } from './virtual-clock.js';
export { type Bounds, watchLinks } from './watched-links.js';
export { SimulatedWorld } from './world.js';
