import type { z } from 'zod';
import { ServiceError } from '../errors.js';
import type { ServiceEndpoint } from './services.js';

/** Request and answer of one endpoint; docs/reference/nats.md is generated from these. */
export interface EndpointContract<
  Q extends z.ZodType = z.ZodType,
  A extends z.ZodType = z.ZodType,
> {
  readonly description: string;
  /** Set if it changes something: viewers may not call it. */
  readonly changes?: true;
  /** An empty request is `{}`. */
  readonly request: Q;
  readonly answer: A;
}

export type ServiceContract = Readonly<Record<string, EndpointContract>>;

export type Handlers<C extends ServiceContract> = {
  readonly [E in keyof C]: (
    request: z.output<C[E]['request']>,
  ) => z.input<C[E]['answer']> | Promise<z.input<C[E]['answer']>>;
};

/** Endpoints that validate requests: an invalid one is answered by error 400 with the reason. */
export function contractedEndpoints<C extends ServiceContract>(
  contract: C,
  handlers: Handlers<C>,
): Record<string, ServiceEndpoint> {
  const endpoints: Record<string, ServiceEndpoint> = {};
  for (const [name, { description, request }] of Object.entries(contract)) {
    const handle = handlers[name]!;
    endpoints[name] = {
      description,
      handle: (raw) => {
        const checked = request.safeParse(raw ?? {});
        if (checked.success) return handle(checked.data as never);
        const issue = checked.error.issues[0];
        throw new ServiceError(
          400,
          `${issue?.path.join('.') || 'request'}: ${issue?.message ?? 'not valid'}`,
          HINT,
        );
      },
    };
  }
  return endpoints;
}

const HINT = "docs/reference/nats.md lists each endpoint's request";
