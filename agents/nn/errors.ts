import { errorClass, messageOf } from '../../config/index.js';

/** A network's shape, or data of the wrong length for it. */
export class ShapeError extends errorClass('GLN_NN_SHAPE') {}

/** An engine that was asked for by name does not run here. */
export class NetworkEngineError extends errorClass('GLN_NN_ENGINE') {
  constructor(engine: string, cause: unknown) {
    super(engine, messageOf(cause), cause);
  }
}

/** A checkpoint that is incomplete or has been changed. */
export class CheckpointDamagedError extends errorClass('GLN_CHECKPOINT_DAMAGED') {}

/** Not a checkpoint of Gleaner, or one of another network. */
export class CheckpointForeignError extends errorClass('GLN_CHECKPOINT_FOREIGN') {}

/** Written by a later version than this one. */
export class CheckpointNewerError extends errorClass('GLN_CHECKPOINT_NEWER') {}

export class CheckpointMissingError extends errorClass('GLN_CHECKPOINT_MISSING') {}
