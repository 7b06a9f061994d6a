import type { Plugin } from 'vitest/config';

export const RETURNS: readonly string[];
export function hollow(source: string, file?: string, returns?: string): string;
export function isShipped(file: string): boolean;
export function hollowProduct(returns: string): Plugin;
export function buildHollow(): string;
