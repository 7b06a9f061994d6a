/** The core without a vendor: a host that brings its own ports starts here. */
export type * from './api.js';
export { CODES, type Code, type Failure, failure, type Stage, SupervisorError, supervisorError } from './errors.js';
export { gatewayInstructions, gatewayTool } from './gateway-definition.js';
export type * from './ports.js';
export { type CoreOptions, createSupervisor, ProcessPool } from './supervisor.js';
