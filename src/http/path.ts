import { z } from 'zod';
import { MAX_ID_CHARS } from '../model/text.ts';

/** The id of something in a path. What is longer than any id is none that is known: it is answered 404 like others. */
export const pathId = z.string().meta({ maxLength: MAX_ID_CHARS }).describe('Its id');
