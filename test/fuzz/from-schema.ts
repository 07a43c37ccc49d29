import { z } from 'zod';
import type { Json, Mutator } from './mutator.js';

/** The part of JSON Schema that zod writes for our messages. */
interface Schema {
  readonly type?: string;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly typeLabel?: string;
}

export const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;

/** A value that the schema accepts, but for what only its refinements say. */
export function valid(schema: Schema, m: Mutator): Json {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return m.pick(schema.enum);
  if (schema.anyOf !== undefined) return valid(m.pick(schema.anyOf), m);
  switch (schema.type) {
    case 'object':
      return object(schema, m);
    case 'array':
      if (schema.prefixItems !== undefined) return schema.prefixItems.map((item) => valid(item, m));
      return Array.from({ length: m.random.below(Math.min(4, (schema.maxItems ?? 4) + 1)) }, () =>
        schema.items === undefined ? null : valid(schema.items, m),
      );
    case 'string':
      return text(schema, m);
    case 'integer':
      return Math.round(number(schema, m));
    case 'number':
      return number(schema, m);
    case 'boolean':
      return m.chance(0.5);
    default:
      return null;
  }
}

function object(schema: Schema, m: Mutator): Json {
  const result: { [key: string]: Json } = {};
  for (const [key, of] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(key) || m.chance(0.6)) result[key] = valid(of, m);
  }
  const more = schema.additionalProperties;
  if (typeof more === 'object')
    for (const key of ['net0', 'b']) if (m.chance(0.5)) result[key] = valid(more, m);
  return result;
}

function number({ minimum = -1000, maximum = 1e6, exclusiveMinimum }: Schema, m: Mutator): number {
  const low = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  const high = Math.min(maximum, low + 10 ** m.random.below(10));
  return low + m.random.next() * (high - low);
}

function text({ typeLabel, pattern, minLength = 0, maxLength = 64 }: Schema, m: Mutator): string {
  if (typeLabel === 'name of a function')
    return m.pick(['/guest/hello', '/guest/pkg/f', '/_/my action@1']);
  if (typeLabel === 'name of a host') return m.pick(['host-a', 'h1']);
  if (pattern !== undefined) return m.pick(['boot', 'abcd1', 'simppo']);
  return 'word'.repeat(100).slice(0, Math.max(minLength, Math.min(maxLength, m.random.below(20))));
}
