// A server that runs commands in a Sprite of Fly: before the first command of each turn the Sprite takes a checkpoint of itself.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { createGuard, spritesDriver } from 'turnback';
import { guardFunction } from 'turnback/plain';

/**
 * POST /exec { command, turnId }
 *
 * @param {{ sprite: import('@fly/sprites').Sprite, exec: (command: string) => Promise<object>, onFailure?: 'proceed' | 'block' }} options
 */
export function spriteServer({ sprite, exec, onFailure = 'proceed' }) {
  const guard = createGuard({ driver: spritesDriver(sprite), onFailure });
  const guarded = guardFunction((/** @type {{ command: string, turnId: string }} */ { command }) => exec(command), {
    guard,
    sandboxId: sprite.name,
    turnId: ({ turnId }) => turnId,
  });
  return createServer(async (request, response) => {
    try {
      const answer = await guarded(/** @type {any} */ (await json(request)));
      response.writeHead(200).end(JSON.stringify(answer));
    } catch (error) {
      const { code, message } = /** @type {{ code?: string, message: string }} */ (error);
      response.writeHead(503).end(JSON.stringify({ code, message }));
    }
  });
}
