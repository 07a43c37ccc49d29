import { GleanerError } from '../../config/index.js';

/** A network's shape, or data of the wrong length for it. */
export class ShapeError extends GleanerError {
  readonly code = 'GLN_NN_SHAPE';
  constructor(detail: string) {
    super(detail, {
      hint: 'widths are integers from 1 to 1024; data is row-major float32, as agents/nn/engine.ts says',
    });
  }
}

/** An engine that was asked for by name does not run here. */
export class EngineUnavailableError extends GleanerError {
  readonly code = 'GLN_NN_ENGINE';
  constructor(engine: string, cause: unknown) {
    super(
      `the engine '${engine}' does not run here: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        hint: 'see `gleaner engines`; `js` runs everywhere',
        cause,
      },
    );
  }
}

/** A checkpoint that is incomplete or has been changed. */
export class CheckpointDamagedError extends GleanerError {
  readonly code = 'GLN_CHECKPOINT_DAMAGED';
  constructor(where: string, detail: string, cause?: unknown) {
    super(`${where} is damaged: ${detail}`, {
      hint: 'take an older checkpoint, or train again',
      cause,
    });
  }
}

/** A file of somebody else's, or of another network than the one asked for. */
export class CheckpointForeignError extends GleanerError {
  readonly code = 'GLN_CHECKPOINT_FOREIGN';
  constructor(where: string, detail: string) {
    super(`${where} is not a checkpoint for this: ${detail}`, {
      hint: 'a checkpoint belongs to one kind of agent with one shape of networks; see its model.json',
    });
  }
}

/** Written by a later version than this one. */
export class CheckpointNewerError extends GleanerError {
  readonly code = 'GLN_CHECKPOINT_NEWER';
  constructor(where: string, found: number, known: number) {
    super(`${where} has version ${found}, this Gleaner reads up to ${known}`, {
      hint: 'update Gleaner, or train again',
    });
  }
}

export class CheckpointMissingError extends GleanerError {
  readonly code = 'GLN_CHECKPOINT_MISSING';
  constructor(where: string, cause?: unknown) {
    super(`${where}: no checkpoint there`, {
      hint: 'a checkpoint is a folder with model.json and its weights',
      cause,
    });
  }
}
