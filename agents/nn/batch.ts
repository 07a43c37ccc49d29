import type { PpoBatch } from './engine.js';
import { ShapeError } from './errors.js';
import { expectLength, inputsOf, type NetworkShape, outputsOf } from './shape.js';

/** Throws `GLN_NN_SHAPE` unless each array fits the rows and the actor. */
export function checkBatch(batch: PpoBatch, actor: NetworkShape): void {
  const { rows } = batch;
  if (!Number.isInteger(rows) || rows < 1) throw new ShapeError(`a batch of ${rows} rows`);
  expectLength('inputs', batch.inputs, rows * inputsOf(actor));
  expectLength('masks', batch.masks, rows * outputsOf(actor));
  for (const name of ['actions', 'logProbabilities', 'advantages', 'returns'] as const)
    expectLength(name, batch[name], rows);
  for (let row = 0; row < rows; row++) {
    const action = batch.actions[row]!;
    if (!(action >= 0 && action < outputsOf(actor)))
      throw new ShapeError(`action ${action} of row ${row}`);
    if (batch.masks[row * outputsOf(actor) + action] !== 1)
      throw new ShapeError(`row ${row}: action ${action} was masked, it cannot have been executed`);
  }
}

/** Both see the same inputs, and a critic has one output. */
export function checkActorCritic(actor: NetworkShape, critic: NetworkShape): void {
  if (outputsOf(critic) !== 1)
    throw new ShapeError(`a critic with ${outputsOf(critic)} outputs; it has one`);
  if (inputsOf(actor) !== inputsOf(critic))
    throw new ShapeError(
      `an actor of ${inputsOf(actor)} and a critic of ${inputsOf(critic)} inputs`,
    );
}
