import { pipeline, Transform, type TransformCallback } from 'node:stream';
import type { FastifyInstance } from 'fastify';

const BLOCK_BYTES = 16 * 1024;

/**
 * Joins the chunks of request bodies (RFC 9112 section 7.1) into blocks before they are collected. Node creates a buffer
 * for each chunk, and a chunk may be one byte long: four bodies of 4 MB in such chunks took 4 GB, because the limit of
 * a body counts bytes.
 */
export function joinChunks(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.headers['transfer-encoding'] === undefined) return done(null, payload);
    // An error, such as a connection that was closed, reaches the reader of the blocks.
    done(
      null,
      pipeline(payload, new ChunkJoiner(), () => {}),
    );
  });
}

class ChunkJoiner extends Transform {
  #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #used = 0;

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(this.#block, this.#used, at);
      at += copied;
      this.#used += copied;
      if (this.#used < BLOCK_BYTES) continue;
      this.push(this.#block);
      this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
      this.#used = 0;
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#used === 0 ? null : this.#block.subarray(0, this.#used));
  }
}
