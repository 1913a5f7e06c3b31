import { SpritesClient } from '@fly/sprites';
import { spriteServer } from './server.mjs';

const { SPRITE_TOKEN, SPRITE_NAME, PORT = '8080' } = process.env;
if (!SPRITE_TOKEN || !SPRITE_NAME) {
  console.error('Set SPRITE_TOKEN and SPRITE_NAME: the token of your organisation, and a Sprite that exists.');
  process.exit(2);
}
const sprite = new SpritesClient(SPRITE_TOKEN).sprite(SPRITE_NAME);
const exec = async (command) => {
  const { stdout, stderr, exitCode } = await sprite.execFile('bash', ['-c', command]);
  return { stdout, stderr, exitCode };
};
spriteServer({ sprite, exec, onFailure: 'block' }).listen(Number(PORT), '127.0.0.1', () => {
  console.log(`POST { "command": "…", "turnId": "…" } to http://127.0.0.1:${PORT}/exec`);
});
