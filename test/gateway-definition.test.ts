import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createGateway } from '../actors/gateway.js';
import { gatewayInstructions, gatewayTool } from '../actors/gateway-definition.js';
import { ACTIONS } from '../actors/gateway-request.js';
import { gatewayHost } from './support/gateway-host.js';

const golden = (name: string): string => readFileSync(new URL(`golden/${name}`, import.meta.url), 'utf8');

describe('what every model sees of the gateway', () => {
  it('is the same bytes as before: a change costs every host its prompt cache', () => {
    expect(`${JSON.stringify(gatewayTool)}\n`).toBe(golden('gateway-tool.txt'));
    expect(gatewayInstructions).toBe(golden('gateway-instructions.txt'));
  });

  it('takes at most 900 bytes as a tool', () => {
    expect(Buffer.byteLength(JSON.stringify(gatewayTool))).toBeLessThanOrEqual(900);
  });

  it('takes at most 1 500 bytes as instructions', () => {
    expect(Buffer.byteLength(gatewayInstructions)).toBeLessThanOrEqual(1_500);
  });

  it('does not depend on what is configured', () => {
    const { host } = gatewayHost();
    const gateway = createGateway(host);
    host.catalogue.drop('files');
    expect(gateway.tool).toBe(gatewayTool);
    expect(gateway.instructions).toBe(gatewayInstructions);
  });

  it('names exactly the actions and fields that are read', () => {
    expect(gatewayTool.inputSchema.properties.action.enum).toEqual(ACTIONS);
    expect(Object.keys(gatewayTool.inputSchema.properties).sort()).toEqual(
      ['action', 'args', 'cursor', 'limit', 'name', 'query', 'regex', 'server', 'uri'].sort(),
    );
  });
});
