import type { ConfigFault, ConfigPort, LayerReading, LogPort, Ports, RedactionPort, SecretSource } from './ports.js';
import { redactedError, redactedFailure } from './redacted-errors.js';
import { redactedLinks } from './redacted-link.js';

/**
 * The ports as the core sees them: what comes in as text of others, and what goes out to a log, has been through the
 * redaction. The core is given no other ports, so nothing in it can forget to (S152).
 */
export function redactedPorts(ports: Ports): Ports {
  const { redaction, vet, config } = ports;
  return {
    ...ports,
    config: {
      read: redactedReader(config, redaction),
      watch: (scope, changed) => config.watch(scope, changed),
      remove: (scope, layer, id) => config.remove(scope, layer, id),
      setRemote: (enabled) => config.setRemote(enabled),
    },
    link: redactedLinks(ports.link, redaction),
    vet: {
      vet: async (definition, scope) => {
        try {
          return await vet.vet(definition, scope);
        } catch (error) {
          throw redactedError(redaction, error);
        }
      },
    },
    log: redactedLog(ports.log, redaction),
  };
}

/** A log in which every message is one line without secrets (S153). */
export function redactedLog(log: LogPort, redaction: RedactionPort): LogPort {
  return {
    write: (entry) => {
      const { message } = entry;
      log.write(message === undefined ? entry : { ...entry, message: redaction.line(message) });
    },
  };
}

/** All that a reading knows of secrets. */
export const secretsOf = (readings: readonly LayerReading[]): readonly SecretSource[] =>
  readings.flatMap(({ servers }) => servers);

/** Reads as the port does; no fault and no refusal of what is read holds a secret of it. */
export function redactedReader(config: Pick<ConfigPort, 'read'>, redaction: RedactionPort): ConfigPort['read'] {
  return async (scope) => {
    const readings = await config.read(scope);
    const held = redaction.hold(secretsOf(readings));
    try {
      return readings.map((reading) => withoutSecrets(reading, redaction));
    } finally {
      held.release();
    }
  };
}

function withoutSecrets(reading: LayerReading, redaction: RedactionPort): LayerReading {
  const plain = (fault: ConfigFault): ConfigFault => ({ ...fault, message: redaction.line(fault.message) });
  return {
    ...reading,
    errors: reading.errors.map(plain),
    warnings: reading.warnings.map(plain),
    servers: reading.servers.map((server) =>
      server.refusal === null ? server : { ...server, refusal: redactedFailure(redaction, server.refusal) },
    ),
  };
}
